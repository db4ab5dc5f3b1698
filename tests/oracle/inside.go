package main

import (
	"context"
	_ "unsafe" // for go:linkname

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/routine"
	"sigs.k8s.io/kueue/pkg/util/wait"
)

// The scheduler offers only an endless loop. These doors let single cycles be run, and admissions be written within the
// cycle that decides them, so that answers depend on nothing but the scenario; the third tells cheaply how many wait.

//go:linkname runCycle sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).schedule
func runCycle(s *scheduler.Scheduler, ctx context.Context) wait.SpeedSignal

//go:linkname wrapAdmissions sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).setAdmissionRoutineWrapper
func wrapAdmissions(s *scheduler.Scheduler, wrapper routine.Wrapper)

//go:linkname queueOf sigs.k8s.io/kueue/pkg/cache/queue.(*Manager).getClusterQueue
func queueOf(m *queue.Manager, name kueue.ClusterQueueReference) *queue.ClusterQueue

// atOnce runs what it is given before it returns.
type atOnce struct{}

func (atOnce) Run(write func()) { write() }
