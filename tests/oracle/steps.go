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

// perform does one step; the answer is how workloads stand, if the step lets anything be decided.
func (w *world) perform(step Step) map[string]Standing {
	for name, argument := range step {
		switch name {
		case "put":
			w.put(argument)
		case "delete":
			w.remove(argument)
		case "settle":
			w.settle()
		case "finish":
			w.finish(keyOf(argument))
		case "reclaim":
			w.reclaim(argument)
		case "nodeUsage":
			w.useNode(argument)
		case "fail":
			w.failNode(read[string](argument))
		case "conflict":
			w.conflicts.Insert(keyOf(argument))
		case "wait":
			w.clock.Step(time.Duration(read[float64](argument) * float64(time.Second)))
		case "cycle":
			for range read[int](argument) {
				w.cycle()
			}
			return w.standings()
		case "schedule":
			return w.schedule()
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
func (w *world) cycle() {
	w.requeuer.ProcessRequeues(w.ctx)
	w.sampleUsage()
	if w.hasHeads() {
		start := time.Now()
		runCycle(w.scheduler, w.ctx)
		w.spent += time.Since(start)
		w.cycles++
	}
	w.deliver()
}

// sampleUsage brings the accounts of LocalQueues up to date where it is time, and puts those who used least first. The real
// one does so whenever it next comes round to a LocalQueue; here, as with ours, that is before every cycle.
func (w *world) sampleUsage() {
	if !w.ordersByUsage {
		return
	}
	var queues kueue.LocalQueueList
	must(w.client.List(w.ctx, &queues))
	for _, each := range queues.Items {
		var queue kueue.ClusterQueue
		if w.client.Get(w.ctx, types.NamespacedName{Name: string(each.Spec.ClusterQueue)}, &queue) != nil {
			continue
		}
		active := metav1.ConditionFalse
		if w.cache.ClusterQueueActive(each.Spec.ClusterQueue) {
			active = metav1.ConditionTrue
		}
		condition := metav1.Condition{Type: kueue.ClusterQueueActive, Status: active, Reason: "Ready"}
		if apimeta.SetStatusCondition(&queue.Status.Conditions, condition) {
			must(w.client.Update(w.ctx, &queue))
		}
		_, err := w.localQueues.Reconcile(w.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&each)})
		must(err)
	}
	w.sortByUsage(queues.Items)
}

// sortByUsage puts workloads in order again. The real one moves them one by one while the accounts of others change too, which
// leaves its heap in no order at all: once all accounts stand still, each pass puts at least one more workload in its place.
func (w *world) sortByUsage(queues []kueue.LocalQueue) {
	longest := 0
	for _, waiting := range w.queues.Dump() {
		longest = max(longest, len(waiting))
	}
	for range longest {
		for _, each := range queues {
			queue := kueue.ClusterQueue{ObjectMeta: metav1.ObjectMeta{Name: string(each.Spec.ClusterQueue)}}
			_ = w.queues.RebuildClusterQueue(&queue, each.Name)
		}
	}
}

// hasHeads tells whether a cycle would not wait.
func (w *world) hasHeads() bool {
	for queue, heads := range w.queues.Dump() {
		if len(heads) > 0 && w.cache.ClusterQueueActive(queue) {
			return true
		}
	}
	return w.hasSecondPasses()
}

// schedule runs cycles until nothing moves. Texts may go round for ever, where a head comes back in every cycle and goes on
// with other flavors each time: all that are told once everything rests are part of the answer.
func (w *world) schedule() map[string]Standing {
	before, idle := w.standings(), 0
	var told []map[string]Standing
	for range mostCycles {
		w.cycle()
		after := w.standings()
		told = append(told, after)
		if idle++; !reflect.DeepEqual(withoutTexts(before), withoutTexts(after)) {
			idle, told = 0, nil
		}
		if idle == mostIdleCycles || idle >= idleCycles && !w.scans() {
			return withTexts(after, told)
		}
		before = after
	}
	panic("the schedule does not come to rest")
}

// scans tells whether some workload would go on with the flavors that it has not seen yet.
func (w *world) scans() bool {
	for _, queue := range w.queues.GetClusterQueueNames() {
		for _, info := range w.queues.PendingWorkloadsInfo(queue) {
			if info.LastAssignment.PendingFlavors() {
				return true
			}
		}
	}
	return false
}

// settle lets the jobs of evicted workloads stop, as the job controllers do.
func (w *world) settle() {
	for _, wl := range w.stored() {
		evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
		if evicted == nil || evicted.Status != "True" || !workload.HasQuotaReservation(wl) || workloadfinish.IsFinished(wl) {
			continue
		}
		w.stop(wl)
	}
	w.deliver()
}

// stop gives the quota of an evicted workload back.
func (w *world) stop(wl *kueue.Workload) {
	evicted := *apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	returns := evicted.Reason == kueue.WorkloadEvictedByPreemption || evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures
	must(workloadpatching.PatchAdmissionStatus(w.ctx, w.client, wl, w.clock, func(wl *kueue.Workload) (bool, error) {
		workload.SetRequeuedCondition(wl, evicted.Reason, evicted.Message, returns)
		workload.UnsetQuotaReservationWithCondition(
			wl, kueue.WorkloadQuotaReservedReasonPendingEvaluation, evicted.Message, w.clock.Now(),
		)
		return true, nil
	}))
}

func (w *world) finish(key types.NamespacedName) {
	var wl kueue.Workload
	must(w.client.Get(w.ctx, key, &wl))
	must(workloadfinish.Finish(w.ctx, w.client, &wl, "Succeeded", "Job finished successfully", w.clock))
	w.deliver()
}

// reclaim lets so many pods of each pod set be done.
func (w *world) reclaim(raw json.RawMessage) {
	what := read[struct {
		Workload json.RawMessage
		Pods     map[kueue.PodSetReference]int32
	}](raw)
	var wl kueue.Workload
	must(w.client.Get(w.ctx, keyOf(what.Workload), &wl))
	var pods []kueue.ReclaimablePod
	for _, set := range wl.Spec.PodSets {
		pods = append(pods, kueue.ReclaimablePod{Name: set.Name, Count: what.Pods[set.Name]})
	}
	if !equality.Semantic.DeepEqual(wl.Status.ReclaimablePods, pods) {
		wl.Status.ReclaimablePods = pods
		must(w.client.Status().Update(w.ctx, &wl))
	}
	w.deliver()
}

// meetsConflict tells whether somebody else wrote the workload first; what only tells it to wait is not held up.
func (w *world) meetsConflict(sent, stored *kueue.Workload) bool {
	key := types.NamespacedName{Namespace: sent.Namespace, Name: sent.Name}
	admits := workload.HasQuotaReservation(sent) && !workload.HasQuotaReservation(stored)
	evicts := apimeta.IsStatusConditionTrue(sent.Status.Conditions, kueue.WorkloadEvicted) &&
		!apimeta.IsStatusConditionTrue(stored.Status.Conditions, kueue.WorkloadEvicted)
	if !w.conflicts.Has(key) || !(admits || evicts) {
		return false
	}
	w.conflicts.Delete(key)
	return true
}

// deliver lets the controllers see every workload that changed since they last looked.
func (w *world) deliver() {
	w.rereadCohorts()
	present := map[types.NamespacedName]bool{}
	for _, wl := range w.stored() {
		key := types.NamespacedName{Namespace: wl.Namespace, Name: wl.Name}
		present[key] = true
		old := w.seen[key]
		w.seen[key] = wl.DeepCopy()
		switch {
		case old == nil:
			w.workloads.Create(event.TypedCreateEvent[*kueue.Workload]{Object: wl})
		case old.ResourceVersion != wl.ResourceVersion:
			w.workloads.Update(event.TypedUpdateEvent[*kueue.Workload]{ObjectOld: old, ObjectNew: wl})
			w.forgetSecondPass(wl)
			if stateOf(wl) != "reserved" || makesRoom(old, wl) {
				w.tellTreeOf(old)
			}
		}
	}
	for key, old := range w.seen {
		if !present[key] {
			delete(w.seen, key)
			w.workloads.Delete(event.TypedDeleteEvent[*kueue.Workload]{Object: old})
			w.tellTreeOf(old)
		}
	}
}

// makesRoom tells whether a workload that keeps its quota leaves some of it or some places to others, or became a victim for
// more of them.
func makesRoom(old, new *kueue.Workload) bool {
	return movesPods(old, new) || !equality.Semantic.DeepEqual(old.Status.ReclaimablePods, new.Status.ReclaimablePods) ||
		!equality.Semantic.DeepEqual(old.Spec.Priority, new.Spec.Priority)
}

// tellTreeOf lets others have another look where a workload gave quota or places back. The real one does so itself for the
// cohort tree, unless the LocalQueue is stopped: a deviation of ours.
func (w *world) tellTreeOf(old *kueue.Workload) {
	if stateOf(old) == "reserved" {
		queues := sets.New(old.Status.Admission.ClusterQueue)
		for _, assignment := range old.Status.Admission.PodSetAssignments {
			if assignment.TopologyAssignment != nil {
				queues.Insert(w.queuesOfFlavors(assignment.Flavors)...)
			}
		}
		qcache.NotifyRetryInadmissible(w.queues, queues)
	}
}
