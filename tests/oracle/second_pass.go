package main

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"
)

// secondPassClock starts the second passes of scheduling that are still due. The real clock also starts those that were dropped:
// a later pass of the same workload is then made with the workload as it was before.
type secondPassClock struct {
	*testingclock.FakeClock
	queues *qcache.Manager
	timers map[workload.Reference]clock.Timer
}

func newSecondPassClock(now *testingclock.FakeClock) *secondPassClock {
	return &secondPassClock{FakeClock: now, timers: map[workload.Reference]clock.Timer{}}
}

// AfterFunc is called by the queue manager after a workload was added to those that wait for their second pass.
func (c *secondPassClock) AfterFunc(delay time.Duration, start func()) clock.Timer {
	for key := range c.waiting() {
		if _, exists := c.timers[key]; !exists {
			c.timers[key] = c.FakeClock.AfterFunc(delay, func() {
				delete(c.timers, key)
				start()
			})
			return c.timers[key]
		}
	}
	panic("a second pass without a workload")
}

// stopDropped stops the timers of second passes that were dropped.
func (c *secondPassClock) stopDropped() {
	if len(c.timers) == 0 {
		return
	}
	waiting := c.waiting()
	for key, timer := range c.timers {
		if !waiting.Has(key) {
			timer.Stop()
			delete(c.timers, key)
		}
	}
}

// waiting names the workloads whose second pass has a timer.
func (c *secondPassClock) waiting() sets.Set[workload.Reference] {
	found := sets.New[workload.Reference]()
	for _, key := range secondPassQueue(c.queues).FieldByName("prequeued").MapKeys() {
		found.Insert(workload.Reference(key.String()))
	}
	return found
}

func secondPassQueue(queues *qcache.Manager) reflect.Value {
	return reflect.ValueOf(queues).Elem().FieldByName("secondPassQueue").Elem()
}

// forgetSecondPass drops the second pass of an evicted workload. The real one would make it with the workload as it was before
// the eviction, and so undo the eviction.
func (c *cluster) forgetSecondPass(wl *kueue.Workload) {
	if workloadevict.IsEvicted(wl) {
		c.queues.DeleteSecondPassWithoutLock(workload.Key(wl))
	}
	c.secondPasses.stopDropped()
}

// hasSecondPasses reports whether a workload is due for its second pass.
func (c *cluster) hasSecondPasses() bool {
	return secondPassQueue(c.queues).FieldByName("queued").Len() > 0
}
