package main

import (
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
)

// stored lists copies of all workloads, ordered by namespace and name; like get, not by way of JSON.
func (w *world) stored() []*kueue.Workload {
	group := kueue.SchemeGroupVersion
	listed, err := w.tracker.List(group.WithResource("workloads"), group.WithKind("Workload"), "")
	must(err)
	list := listed.(*kueue.WorkloadList)
	found := make([]*kueue.Workload, 0, len(list.Items))
	for i := range list.Items {
		found = append(found, &list.Items[i])
	}
	slices.SortFunc(found, func(a, b *kueue.Workload) int {
		return strings.Compare(string(workload.Key(a)), string(workload.Key(b)))
	})
	return found
}

// standings tells how every workload is doing, by namespace and name.
func (w *world) standings() map[string]Standing {
	places := w.places()
	found := map[string]Standing{}
	for _, wl := range w.stored() {
		key := workload.Key(wl)
		standing := standingOf(wl)
		standing.Place = places[key]
		found[string(key)] = standing
	}
	return found
}

func withoutTexts(standings map[string]Standing) map[string]Standing {
	bare := map[string]Standing{}
	for name, standing := range standings {
		standing.Reason, standing.Message = "", ""
		bare[name] = standing
	}
	return bare
}

// withTexts adds to the last standings what else was told.
func withTexts(last map[string]Standing, told []map[string]Standing) map[string]Standing {
	for name, standing := range last {
		for _, each := range told {
			text := Text{each[name].Reason, each[name].Message}
			if text != (Text{standing.Reason, standing.Message}) && !slices.Contains(standing.Also, text) {
				standing.Also = append(standing.Also, text)
			}
		}
		last[name] = standing
	}
	return last
}

func (w *world) places() map[workload.Reference]string {
	places := map[workload.Reference]string{}
	for _, keys := range w.queues.Dump() {
		for _, key := range keys {
			places[key] = "active"
		}
	}
	for _, keys := range w.queues.DumpInadmissible() {
		for _, key := range keys {
			places[key] = "pool"
		}
	}
	return places
}

func standingOf(wl *kueue.Workload) Standing {
	standing := Standing{State: stateOf(wl)}
	if standing.State == "reserved" {
		for _, each := range wl.Status.Admission.PodSetAssignments {
			standing.Assignments = append(standing.Assignments, assignmentOf(each))
		}
	}
	preempted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPreempted)
	if apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted) && preempted != nil && preempted.Status == "True" {
		standing.Preempted = preempted.Reason
	}
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted != nil && evicted.Status == "True" && evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures {
		standing.Evicted = evicted.Reason
	}
	standing.UnhealthyNodes = workload.UnhealthyNodeNames(wl)
	waits := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	if waits != nil && waits.Status != "True" {
		standing.Reason, standing.Message = waits.Reason, waits.Message
	}
	return standing
}

func stateOf(wl *kueue.Workload) string {
	switch {
	case workloadfinish.IsFinished(wl):
		return "finished"
	case !workload.IsActive(wl):
		return "inactive"
	case workload.HasQuotaReservation(wl):
		return "reserved"
	default:
		return "pending"
	}
}

func assignmentOf(assignment kueue.PodSetAssignment) Assignment {
	flavors := map[string]string{}
	for resource, flavor := range assignment.Flavors {
		flavors[string(resource)] = string(flavor)
	}
	count := int32(0)
	if assignment.Count != nil {
		count = *assignment.Count
	}
	delayed := ""
	if assignment.DelayedTopologyRequest != nil {
		delayed = string(*assignment.DelayedTopologyRequest)
	}
	return Assignment{
		Name: string(assignment.Name), Count: count, Flavors: flavors,
		Domains: domainsOf(assignment.TopologyAssignment), Topology: assignment.TopologyAssignment, Delayed: delayed,
	}
}
