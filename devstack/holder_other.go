//go:build !linux

package main

func portHolder(int) string { return unknownHolder }
