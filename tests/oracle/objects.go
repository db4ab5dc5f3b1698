package main

import (
	"encoding/json"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/workload"
)

// put creates or changes an object and lets its controller see it.
func (c *cluster) put(manifest json.RawMessage) {
	switch kind := read[metav1.TypeMeta](manifest).Kind; kind {
	case "Namespace":
		namespace, old := read[corev1.Namespace](manifest), corev1.Namespace{}
		if !c.store(&namespace, &old) {
			matching := c.cache.MatchingClusterQueues(namespace.Labels)
			qcache.NotifyRetryInadmissible(c.queues, matching.Difference(c.cache.MatchingClusterQueues(old.Labels)))
		}
	case "LimitRange":
		limits, old := read[corev1.LimitRange](manifest), corev1.LimitRange{}
		c.store(&limits, &old)
		c.adjustPending(limits.Namespace)
	case "AdmissionCheck":
		check, old := read[kueue.AdmissionCheck](manifest), kueue.AdmissionCheck{}
		if c.store(&check, &old) {
			c.checks.Create(event.TypedCreateEvent[*kueue.AdmissionCheck]{Object: &check})
		} else {
			c.checks.Update(event.TypedUpdateEvent[*kueue.AdmissionCheck]{ObjectOld: &old, ObjectNew: &check})
		}
	case "ResourceFlavor":
		flavor, old := read[kueue.ResourceFlavor](manifest), kueue.ResourceFlavor{}
		if c.store(&flavor, &old) {
			c.flavors.Create(event.TypedCreateEvent[*kueue.ResourceFlavor]{Object: &flavor})
		} else {
			c.forgetFlavor(&old, &flavor)
			c.flavors.Update(event.TypedUpdateEvent[*kueue.ResourceFlavor]{ObjectOld: &old, ObjectNew: &flavor})
		}
	case "Topology":
		topology := read[kueue.Topology](manifest)
		c.putTopology(&topology)
	case "Node":
		node := read[corev1.Node](manifest)
		c.putNode(&node)
	case "Cohort":
		cohort := read[kueue.Cohort](manifest)
		left, old := c.queuesInTreeOf(cohort.Name), kueue.Cohort{}
		if !c.store(&cohort, &old) && equality.Semantic.DeepEqual(old.Spec, cohort.Spec) {
			break
		}
		c.readCohort(cohort.Name)
		if old.Spec.ParentName != cohort.Spec.ParentName {
			qcache.NotifyRetryInadmissible(c.queues, left)
		}
	case "ClusterQueue":
		queue, old := read[kueue.ClusterQueue](manifest), kueue.ClusterQueue{}
		setQueueDefaults(&queue.Spec)
		if c.store(&queue, &old) {
			c.clusterQueues.Create(event.TypedCreateEvent[*kueue.ClusterQueue]{Object: &queue})
		} else {
			left := c.queuesInTreeOf(string(old.Spec.CohortName))
			c.forgetLostFlavors(&queue)
			c.clusterQueues.Update(event.TypedUpdateEvent[*kueue.ClusterQueue]{ObjectOld: &old, ObjectNew: &queue})
			if old.Spec.CohortName != queue.Spec.CohortName {
				qcache.NotifyRetryInadmissible(c.queues, left)
			}
		}
	case "LocalQueue":
		queue, old := read[kueue.LocalQueue](manifest), kueue.LocalQueue{}
		if c.store(&queue, &old) {
			c.localQueues.Create(event.TypedCreateEvent[*kueue.LocalQueue]{Object: &queue})
		} else {
			c.localQueues.Update(event.TypedUpdateEvent[*kueue.LocalQueue]{ObjectOld: &old, ObjectNew: &queue})
		}
	case "Workload":
		c.putWorkload(asStored(read[kueue.Workload](manifest)))
	default:
		panic("scenarios know no " + kind)
	}
	c.deliver()
}

// store writes an object as a server would; whether it is new. The old one is read into old.
func (c *cluster) store(object, old client.Object) bool {
	if c.client.Get(c.ctx, client.ObjectKeyFromObject(object), old) != nil {
		object.SetGeneration(1)
		must(c.client.Create(c.ctx, object))
		return true
	}
	object.SetResourceVersion(old.GetResourceVersion())
	object.SetUID(old.GetUID())
	object.SetCreationTimestamp(old.GetCreationTimestamp())
	object.SetGeneration(old.GetGeneration() + 1)
	must(c.client.Update(c.ctx, object))
	return false
}

// adjustPending does what the real one does on a change of a LimitRange, in a handler that is not to be had: workloads that
// wait are read anew. The real one passes over those that it has not told to wait yet, and leaves parked what asks for the
// same as before, though it may have been the LimitRange that kept it out: a deviation of ours.
func (c *cluster) adjustPending(namespace string) {
	places := c.places()
	for _, wl := range c.stored() {
		if wl.Namespace == namespace && workload.IsAdmissible(wl) {
			if places[workload.Key(wl)] == "pool" {
				c.queues.DeleteWorkload(logr.Discard(), workload.Key(wl))
			}
			workload.AdjustResources(c.ctx, c.client, wl)
			_ = c.queues.AddOrUpdateWorkload(logr.Discard(), wl)
		}
	}
}

// putWorkload keeps the status of a workload unless another is sent, and counts changes of the spec only.
func (c *cluster) putWorkload(wl kueue.Workload) {
	var old kueue.Workload
	if wl.Spec.Active == nil {
		wl.Spec.Active = ptr.To(true)
	}
	status := wl.Status
	wl.Status = kueue.WorkloadStatus{}
	if c.client.Get(c.ctx, client.ObjectKeyFromObject(&wl), &old) != nil {
		c.create(&wl)
	} else {
		wl.ObjectMeta.ResourceVersion, wl.ObjectMeta.UID = old.ResourceVersion, old.UID
		wl.ObjectMeta.CreationTimestamp, wl.ObjectMeta.Generation = old.CreationTimestamp, old.Generation
		wl.Status = *old.Status.DeepCopy()
		if equality.Semantic.DeepEqual(old.Spec, wl.Spec) {
			return
		}
		wl.ObjectMeta.Generation++
		must(c.client.Update(c.ctx, &wl))
	}
	if status.Admission != nil || len(status.Conditions) > 0 {
		// Only a workload that was seen waiting before is known to its queue, which must be told when it ends.
		c.deliver()
		wl.Status = status
		must(c.client.Status().Update(c.ctx, &wl))
	}
}

func (c *cluster) create(wl *kueue.Workload) {
	if wl.UID == "" {
		wl.UID = types.UID(fmt.Sprintf("uid-%s-%s", wl.Namespace, wl.Name))
	}
	if wl.CreationTimestamp.IsZero() {
		wl.CreationTimestamp = metav1.NewTime(c.clock.Now())
	}
	wl.Generation = 1
	must(c.client.Create(c.ctx, wl))
}

// remove deletes an object and lets its controller see it.
func (c *cluster) remove(raw json.RawMessage) {
	what := read[struct{ Kind, Namespace, Name string }](raw)
	key := types.NamespacedName{Namespace: what.Namespace, Name: what.Name}
	switch what.Kind {
	case "Workload":
		c.drop(key, &kueue.Workload{})
	case "Cohort":
		concerned := c.queuesInTreeOf(what.Name)
		c.drop(key, &kueue.Cohort{})
		c.readCohort(what.Name)
		qcache.NotifyRetryInadmissible(c.queues, concerned)
	case "ClusterQueue":
		var queue kueue.ClusterQueue
		c.drop(key, &queue)
		c.clusterQueues.Delete(event.TypedDeleteEvent[*kueue.ClusterQueue]{Object: &queue})
	case "LocalQueue":
		var queue kueue.LocalQueue
		c.drop(key, &queue)
		c.localQueues.Delete(event.TypedDeleteEvent[*kueue.LocalQueue]{Object: &queue})
	case "Node":
		c.deleteNode(what.Name)
	case "Topology":
		c.deleteTopology(what.Name)
	default:
		panic("scenarios delete no " + what.Kind)
	}
	c.deliver()
}

func (c *cluster) drop(key types.NamespacedName, object client.Object) {
	must(c.client.Get(c.ctx, key, object))
	must(c.client.Delete(c.ctx, object))
}

// queuesInTreeOf names the ClusterQueues that share a root with a cohort. It is asked about trees that something leaves: a
// deviation of ours is to look at their parked workloads again, where the real one waits for the next event.
func (c *cluster) queuesInTreeOf(cohort string) sets.Set[kueue.ClusterQueueReference] {
	var cohorts kueue.CohortList
	must(c.client.List(c.ctx, &cohorts))
	parents := map[kueue.CohortReference]kueue.CohortReference{}
	for _, each := range cohorts.Items {
		parents[kueue.CohortReference(each.Name)] = each.Spec.ParentName
	}
	rootOf := func(name kueue.CohortReference) kueue.CohortReference {
		for parents[name] != "" {
			name = parents[name]
		}
		return name
	}
	var queues kueue.ClusterQueueList
	must(c.client.List(c.ctx, &queues))
	found := sets.New[kueue.ClusterQueueReference]()
	for _, each := range queues.Items {
		if each.Spec.CohortName != "" && rootOf(each.Spec.CohortName) == rootOf(kueue.CohortReference(cohort)) {
			found.Insert(kueue.ClusterQueueReference(each.Name))
		}
	}
	return found
}

// forgetLostFlavors lets scans begin anew that would go on behind the last flavor that a queue has left. The real one admits
// such workloads without any flavor: a deviation of ours.
func (c *cluster) forgetLostFlavors(queue *kueue.ClusterQueue) {
	flavors := map[corev1.ResourceName]int{}
	for _, group := range queue.Spec.ResourceGroups {
		for _, resource := range group.CoveredResources {
			flavors[resource] = len(group.Flavors)
		}
	}
	for _, info := range c.queues.PendingWorkloadsInfo(kueue.ClusterQueueReference(queue.Name)) {
		if info.LastAssignment == nil {
			continue
		}
		for _, tried := range info.LastAssignment.LastTriedFlavorIdx {
			for resource, index := range tried {
				if index+1 >= flavors[resource] {
					tried[resource] = -1
				}
			}
		}
	}
}

// readCohort reconciles a cohort; one that is refused is tried again whenever something changes.
func (c *cluster) readCohort(name string) {
	_, err := c.cohorts.Reconcile(c.ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
	c.unread.Delete(name)
	if err != nil {
		c.unread.Insert(name)
	}
}

func (c *cluster) rereadCohorts() {
	for _, name := range c.unread.UnsortedList() {
		c.readCohort(name)
	}
}

// setQueueDefaults fills in what the schema of a ClusterQueue says.
func setQueueDefaults(spec *kueue.ClusterQueueSpec) {
	setDefault(&spec.QueueingStrategy, kueue.BestEffortFIFO)
	setDefault(&spec.StopPolicy, ptr.To(kueue.None))
	setDefault(&spec.Preemption, &kueue.ClusterQueuePreemption{})
	setDefault(&spec.Preemption.ReclaimWithinCohort, kueue.PreemptionPolicyNever)
	setDefault(&spec.Preemption.WithinClusterQueue, kueue.PreemptionPolicyNever)
	setDefault(&spec.Preemption.BorrowWithinCohort, &kueue.BorrowWithinCohort{})
	setDefault(&spec.Preemption.BorrowWithinCohort.Policy, kueue.BorrowWithinCohortPolicyNever)
	setDefault(&spec.FlavorFungibility, &kueue.FlavorFungibility{})
	setDefault(&spec.FlavorFungibility.WhenCanBorrow, kueue.MayStopSearch)
	setDefault(&spec.FlavorFungibility.WhenCanPreempt, kueue.TryNextFlavor)
}

func setDefault[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}
