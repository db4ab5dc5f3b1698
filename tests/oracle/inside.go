package main

import (
	"context"
	"reflect"
	"unsafe" // for go:linkname too

	"k8s.io/utils/clock"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/controller/core"
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

// setClock lets a controller read the scenario's clock.
func setClock(controller *core.WorkloadReconciler, clock clock.Clock) {
	field := reflect.ValueOf(controller).Elem().FieldByName("clock")
	reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem().Set(reflect.ValueOf(clock))
}

// atOnce runs what it is given before it returns.
type atOnce struct{}

func (atOnce) Run(write func()) { write() }
