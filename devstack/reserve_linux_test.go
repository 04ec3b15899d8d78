package main

import "testing"

func TestTwoStacksThatStartAtOnceChooseDifferentPorts(t *testing.T) {
	port, err := freePort(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := tryListen(port); err != nil {
		t.Fatalf("the chosen port %d is taken: %v", port, err)
	}
	if reserve(port) {
		t.Errorf("port %d can be chosen again before its server listens", port)
	}
}
