package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
	workloadpatching "sigs.k8s.io/kueue/pkg/workload/patching"
)

const (
	// idleCycles in a row end a turn: some heads come back in every cycle, and a scan over flavors may take a few.
	idleCycles = 4
	// mostIdleCycles end a turn although scans over flavors still go round, each at its own pace.
	mostIdleCycles = 24
	// mostCycles end a turn that never comes to rest.
	mostCycles = 400
)

// perform does one step; it returns the states of workloads if the step runs the scheduler.
func (c *cluster) perform(step Step) map[string]WorkloadState {
	for name, argument := range step {
		switch name {
		case "put":
			c.put(argument)
		case "delete":
			c.remove(argument)
		case "settle":
			c.settle()
		case "finish":
			c.finish(keyOf(argument))
		case "reclaim":
			c.reclaim(argument)
		case "nodeUsage":
			c.useNode(argument)
		case "fail":
			c.failNode(read[string](argument))
		case "passChecks":
			c.passChecks(argument)
		case "scale":
			c.scale(argument)
		case "endJob":
			c.endJob(argument)
		case "conflict":
			c.conflicts.Insert(keyOf(argument))
		case "wait":
			c.clock.Step(time.Duration(read[float64](argument) * float64(time.Second)))
		case "cycle":
			for range read[int](argument) {
				c.cycle()
			}
			return c.workloadStates()
		case "schedule":
			return c.schedule()
		default:
			panic("no such step: " + name)
		}
	}
	return nil
}

func read[T any](raw json.RawMessage) (value T) {
	must(json.Unmarshal(raw, &value))
	return value
}

func keyOf(raw json.RawMessage) types.NamespacedName {
	namespace, name, _ := strings.Cut(read[string](raw), "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// cycle runs one cycle, if there is a head to look at, and lets the controllers see what it wrote.
func (c *cluster) cycle() {
	c.requeuer.ProcessRequeues(c.ctx)
	c.sampleUsage()
	if c.hasHeads() {
		start := time.Now()
		runCycle(c.scheduler, c.ctx)
		c.spent += time.Since(start)
		c.cycles++
	}
	c.deliver()
}

// sampleUsage brings the accounts of LocalQueues up to date where it is time, and puts those who used least first. The real
// one does so whenever it next comes round to a LocalQueue; here, as with ours, that is before every cycle.
func (c *cluster) sampleUsage() {
	if !c.ordersByUsage {
		return
	}
	var queues kueue.LocalQueueList
	must(c.client.List(c.ctx, &queues))
	for _, each := range queues.Items {
		var queue kueue.ClusterQueue
		if c.client.Get(c.ctx, types.NamespacedName{Name: string(each.Spec.ClusterQueue)}, &queue) != nil {
			continue
		}
		active := metav1.ConditionFalse
		if c.cache.ClusterQueueActive(each.Spec.ClusterQueue) {
			active = metav1.ConditionTrue
		}
		condition := metav1.Condition{Type: kueue.ClusterQueueActive, Status: active, Reason: "Ready"}
		if apimeta.SetStatusCondition(&queue.Status.Conditions, condition) {
			must(c.client.Update(c.ctx, &queue))
		}
		_, err := c.localQueues.Reconcile(c.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)})
		must(err)
	}
	c.sortByUsage(queues.Items)
}

// sortByUsage puts workloads in order again. The real one moves them one by one while the accounts of others change too, which
// leaves its heap in no order at all: once all accounts stand still, each pass puts at least one more workload in its place.
func (c *cluster) sortByUsage(queues []kueue.LocalQueue) {
	longest := 0
	for _, waiting := range c.queues.Dump() {
		longest = max(longest, len(waiting))
	}
	for range longest {
		for _, each := range queues {
			queue := kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: string(each.Spec.ClusterQueue)}}
			_ = c.queues.RebuildClusterQueue(&queue, each.Name)
		}
	}
}

// hasHeads reports whether a cycle would not wait.
func (c *cluster) hasHeads() bool {
	for queue, heads := range c.queues.Dump() {
		if len(heads) > 0 && c.cache.ClusterQueueActive(queue) {
			return true
		}
	}
	return c.hasSecondPasses()
}

// schedule runs cycles until nothing moves. Texts may go round for ever, where a head comes back in every cycle and goes on
// with other flavors each time: all texts since the last other change are part of the answer.
func (c *cluster) schedule() map[string]WorkloadState {
	before, idle := c.workloadStates(), 0
	var states []map[string]WorkloadState
	for range mostCycles {
		c.cycle()
		after := c.workloadStates()
		states = append(states, after)
		if idle++; !reflect.DeepEqual(withoutTexts(before), withoutTexts(after)) {
			idle, states = 0, nil
		}
		if idle == mostIdleCycles || idle >= idleCycles && !c.scans() {
			return withTexts(after, states)
		}
		before = after
	}
	panic("the schedule does not come to rest")
}

// scans reports whether some workload would go on with the flavors that it has not seen yet.
func (c *cluster) scans() bool {
	for _, queue := range c.queues.GetClusterQueueNames() {
		for _, info := range c.queues.PendingWorkloadsInfo(queue) {
			if info.LastAssignment.PendingFlavors() {
				return true
			}
		}
	}
	return false
}

// settle lets the jobs of evicted workloads stop, as the job controllers do.
func (c *cluster) settle() {
	for _, wl := range c.stored() {
		evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
		if evicted == nil || evicted.Status != "True" || !workload.HasQuotaReservation(wl) || workloadfinish.IsFinished(wl) {
			continue
		}
		if c.isOneOfSeveral(wl) {
			must(workloadfinish.Finish(c.ctx, c.client, wl, kueue.WorkloadFinishedReasonOutOfSync, "", c.clock))
		} else {
			c.stop(wl)
		}
	}
	c.deliver()
}

// stop gives the quota of an evicted workload back.
func (c *cluster) stop(wl *kueue.Workload) {
	evicted := *apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	returns := evicted.Reason == kueue.WorkloadEvictedByPreemption || evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures
	must(workloadpatching.PatchAdmissionStatus(c.ctx, c.client, wl, c.clock, func(wl *kueue.Workload) (bool, error) {
		workload.SetRequeuedCondition(wl, evicted.Reason, evicted.Message, returns)
		workload.UnsetQuotaReservationWithCondition(
			wl, kueue.WorkloadQuotaReservedReasonPendingEvaluation, evicted.Message, c.clock.Now(),
		)
		return true, nil
	}))
}

func (c *cluster) finish(key types.NamespacedName) {
	var wl kueue.Workload
	must(c.client.Get(c.ctx, key, &wl))
	must(workloadfinish.Finish(c.ctx, c.client, &wl, "Succeeded", "Job finished successfully", c.clock))
	c.deliver()
}

// reclaim lets so many pods of each pod set be done.
func (c *cluster) reclaim(raw json.RawMessage) {
	what := read[struct {
		Workload json.RawMessage
		Pods     map[kueue.PodSetReference]int32
	}](raw)
	var wl kueue.Workload
	must(c.client.Get(c.ctx, keyOf(what.Workload), &wl))
	var pods []kueue.ReclaimablePod
	for _, set := range wl.Spec.PodSets {
		pods = append(pods, kueue.ReclaimablePod{Name: set.Name, Count: what.Pods[set.Name]})
	}
	if !equality.Semantic.DeepEqual(wl.Status.ReclaimablePods, pods) {
		wl.Status.ReclaimablePods = pods
		must(c.client.Status().Update(c.ctx, &wl))
	}
	c.deliver()
}

// meetsConflict reports whether another client wrote the workload first; writes that keep it pending have no conflict.
func (c *cluster) meetsConflict(sent, stored *kueue.Workload) bool {
	key := types.NamespacedName{Namespace: sent.Namespace, Name: sent.Name}
	admits := workload.HasQuotaReservation(sent) && !workload.HasQuotaReservation(stored)
	evicts := apimeta.IsStatusConditionTrue(sent.Status.Conditions, kueue.WorkloadEvicted) &&
		!apimeta.IsStatusConditionTrue(stored.Status.Conditions, kueue.WorkloadEvicted)
	if !c.conflicts.Has(key) || !(admits || evicts) {
		return false
	}
	c.conflicts.Delete(key)
	return true
}

// deliver lets the controllers see every workload that changed since they last looked.
func (c *cluster) deliver() {
	c.rereadCohorts()
	c.syncChecks()
	present := map[types.NamespacedName]bool{}
	for _, wl := range c.stored() {
		key := types.NamespacedName{Namespace: wl.Namespace, Name: wl.Name}
		present[key] = true
		old := c.seen[key]
		c.seen[key] = wl.DeepCopy()
		switch {
		case old == nil:
			c.workloads.Create(event.TypedCreateEvent[*kueue.Workload]{Object: wl})
		case old.ResourceVersion != wl.ResourceVersion:
			c.workloads.Update(event.TypedUpdateEvent[*kueue.Workload]{ObjectOld: old, ObjectNew: wl})
			c.forgetSecondPass(wl)
			if stateOf(wl) != "reserved" || freesCapacity(old, wl) {
				c.notifyTreeOf(old)
			}
		}
	}
	for key, old := range c.seen {
		if !present[key] {
			delete(c.seen, key)
			c.workloads.Delete(event.TypedDeleteEvent[*kueue.Workload]{Object: old})
			c.notifyTreeOf(old)
		}
	}
}

// freesCapacity reports whether a workload that keeps its quota leaves some of it or some places to others, or became a victim for
// more of them.
func freesCapacity(old, new *kueue.Workload) bool {
	return movesPods(old, new) || !equality.Semantic.DeepEqual(old.Status.ReclaimablePods, new.Status.ReclaimablePods) ||
		!equality.Semantic.DeepEqual(old.Spec.Priority, new.Spec.Priority)
}

// notifyTreeOf reactivates other workloads where a workload released quota or places. The real one does so itself for the
// cohort tree, unless the LocalQueue is stopped: a deviation of ours.
func (c *cluster) notifyTreeOf(old *kueue.Workload) {
	if stateOf(old) == "reserved" {
		queues := sets.New(old.Status.Admission.ClusterQueue)
		for _, assignment := range old.Status.Admission.PodSetAssignments {
			if assignment.TopologyAssignment != nil {
				queues.Insert(c.queuesOfFlavors(assignment.Flavors)...)
			}
		}
		qcache.NotifyRetryInadmissible(c.queues, queues)
	}
}
