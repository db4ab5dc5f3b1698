package main

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// memory is a client for benchmarks, where the fake one would cost more than all that is measured. It reads as a manager's
// cached client does, by a deep copy of what is there, and takes the time of the writes of statuses, which in a cluster are
// the API server's.
type memory struct {
	client.Client
	lock    sync.Mutex
	objects map[reflect.Type]map[types.NamespacedName]client.Object
	version int
	// written are workloads whose status was written and which the controllers have not seen since.
	written []*kueue.Workload
	// writing is CPU time that writes of statuses took.
	writing time.Duration
}

func newMemory() *memory {
	return &memory{objects: map[reflect.Type]map[types.NamespacedName]client.Object{}}
}

func (m *memory) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	m.lock.Lock()
	found, exists := m.objects[reflect.TypeOf(into)][key]
	m.lock.Unlock()
	if !exists {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List knows only that there is nothing: benchmarks have no LimitRanges, and whatever else is listed comes later.
func (m *memory) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	items, err := meta.GetItemsPtr(list)
	must(err)
	kind := reflect.PointerTo(reflect.TypeOf(items).Elem().Elem())
	if len(m.objects[kind]) > 0 {
		panic(fmt.Sprintf("benchmarks list no %s", kind))
	}
	return nil
}

func (m *memory) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	m.keep(object)
	return nil
}

// keep stores a copy under a new version.
func (m *memory) keep(object client.Object) client.Object {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.version++
	object.SetResourceVersion(strconv.Itoa(m.version))
	kind := reflect.TypeOf(object)
	if m.objects[kind] == nil {
		m.objects[kind] = map[types.NamespacedName]client.Object{}
	}
	stored := object.DeepCopyObject().(client.Object)
	m.objects[kind][client.ObjectKeyFromObject(object)] = stored
	return stored
}

func (m *memory) Status() client.SubResourceWriter { return statusWriter{memory: m} }

func (m *memory) workload(key types.NamespacedName) *kueue.Workload {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.objects[reflect.TypeFor[*kueue.Workload]()][key].(*kueue.Workload)
}

type statusWriter struct {
	client.SubResourceWriter
	memory *memory
}

// Patch replaces the status, as one manager owns it all.
func (s statusWriter) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := cpuTime(unix.CLOCK_THREAD_CPUTIME_ID)
	sent := object.(*kueue.Workload)
	changed := s.memory.workload(client.ObjectKeyFromObject(sent)).DeepCopy()
	changed.Status = *sent.Status.DeepCopy()
	stored := s.memory.keep(changed).(*kueue.Workload)
	stored.DeepCopyInto(sent)
	s.memory.lock.Lock()
	defer s.memory.lock.Unlock()
	s.memory.written = append(s.memory.written, stored)
	s.memory.writing += cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) - begin
	return nil
}

func cpuTime(clock int32) time.Duration {
	var spent unix.Timespec
	must(unix.ClockGettime(clock, &spent))
	return time.Duration(spent.Nano())
}
