package activities_test

import (
	"sync"
	"testing"

	"go.temporal.io/sdk/testsuite"

	"floe/activities"
)

// TestTwoExperimentsThatWantTheSameAtOnceDoItOnce runs two equal trainings side
// by side, as two workers would: one trains, the other waits and adopts.
func TestTwoExperimentsThatWantTheSameAtOnceDoItOnce(t *testing.T) {
	a := newBench(t)
	in := upToTraining(a)
	var suite testsuite.WorkflowTestSuite
	b := &bench{TestActivityEnvironment: suite.NewTestActivityEnvironment(), t: t, store: a.store, acts: a.acts}
	b.RegisterActivity(a.acts)
	results := make([]activities.Trained, 2)
	var wg sync.WaitGroup
	for i, one := range []*bench{a, b} {
		wg.Go(func() {
			its := in
			its.Where.Name = []string{"one", "other"}[i]
			its.Spec.Name = its.Where.Name
			var err error
			if results[i], err = do(one, one.acts.Train, its); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if results[0].ID != results[1].ID || results[0].Reused == results[1].Reused {
		t.Errorf("got %+v and %+v; want one to train and the other to take it over", results[0].Done, results[1].Done)
	}
}

func TestWithoutSharingStepsAreDoneAgainWithTheSameContent(t *testing.T) {
	b := newBench(t)
	in := upToTraining(b)
	first, err := do(b, b.acts.Train, in)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	in.Spec.Share = &no
	second, err := do(b, b.acts.Train, in)
	if err != nil {
		t.Fatal(err)
	}
	if second.Reused || second.ID == first.ID || b.policySum(second.ID) != b.policySum(first.ID) {
		t.Errorf("first %+v, second %+v; want another step with the same policy", first.Done, second.Done)
	}
	third, err := do(b, b.acts.Train, in)
	if err != nil || !third.Reused || third.ID != second.ID {
		t.Errorf("third %+v, %v; want an experiment to share with itself", third.Done, err)
	}
}

func TestAStepThatIsAskedForAgainIsDoneAgainOnce(t *testing.T) {
	b := newBench(t)
	in := upToTraining(b)
	first, err := do(b, b.acts.Train, in)
	if err != nil {
		t.Fatal(err)
	}
	in.Where.Again = 1
	second, err := do(b, b.acts.Train, in)
	if err != nil || second.Reused || second.ID == first.ID {
		t.Fatalf("again: %+v, %v; want it done anew", second.Done, err)
	}
	if third, err := do(b, b.acts.Train, in); err != nil || !third.Reused {
		t.Errorf("a later attempt: %+v, %v; want the one before to count", third.Done, err)
	}
}
