package main

import (
	"context"
	_ "unsafe" // for go:linkname

	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/routine"
	"sigs.k8s.io/kueue/pkg/util/wait"
)

// The scheduler offers only an endless loop. These two doors let single cycles be run, and admissions be written within
// the cycle that decides them, so that answers depend on nothing but the scenario.

//go:linkname runCycle sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).schedule
func runCycle(s *scheduler.Scheduler, ctx context.Context) wait.SpeedSignal

//go:linkname wrapAdmissions sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).setAdmissionRoutineWrapper
func wrapAdmissions(s *scheduler.Scheduler, wrapper routine.Wrapper)

// atOnce runs what it is given before it returns.
type atOnce struct{}

func (atOnce) Run(write func()) { write() }
