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
func (c *cluster) stored() []*kueue.Workload {
	group := kueue.SchemeGroupVersion
	listed, err := c.tracker.List(group.WithResource("workloads"), group.WithKind("Workload"), "")
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

// workloadStates returns the state of every workload by namespace and name.
func (c *cluster) workloadStates() map[string]WorkloadState {
	places := c.places()
	found := map[string]WorkloadState{}
	for _, wl := range c.stored() {
		key := workload.Key(wl)
		state := workloadStateOf(wl)
		state.Place = places[key]
		found[string(key)] = state
	}
	return found
}

func withoutTexts(states map[string]WorkloadState) map[string]WorkloadState {
	bare := map[string]WorkloadState{}
	for name, state := range states {
		state.Reason, state.Message = "", ""
		bare[name] = state
	}
	return bare
}

// withTexts adds to the last states the other texts of the cycles since nothing else changed.
func withTexts(last map[string]WorkloadState, earlier []map[string]WorkloadState) map[string]WorkloadState {
	for name, state := range last {
		for _, each := range earlier {
			text := Text{each[name].Reason, each[name].Message}
			if text != (Text{state.Reason, state.Message}) && !slices.Contains(state.Also, text) {
				state.Also = append(state.Also, text)
			}
		}
		last[name] = state
	}
	return last
}

func (c *cluster) places() map[workload.Reference]string {
	places := map[workload.Reference]string{}
	for _, keys := range c.queues.Dump() {
		for _, key := range keys {
			places[key] = "active"
		}
	}
	for _, keys := range c.queues.DumpInadmissible() {
		for _, key := range keys {
			places[key] = "pool"
		}
	}
	return places
}

func workloadStateOf(wl *kueue.Workload) WorkloadState {
	state := WorkloadState{State: stateOf(wl)}
	if state.State == "reserved" {
		for _, each := range wl.Status.Admission.PodSetAssignments {
			state.Assignments = append(state.Assignments, assignmentOf(each))
		}
	}
	preempted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadPreempted)
	if apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted) && preempted != nil && preempted.Status == "True" {
		state.Preempted = preempted.Reason
	}
	evicted := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadEvicted)
	if evicted != nil && evicted.Status == "True" && evicted.Reason == kueue.WorkloadEvictedDueToNodeFailures {
		state.Evicted = evicted.Reason
	}
	state.UnhealthyNodes = workload.UnhealthyNodeNames(wl)
	waits := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	if waits != nil && waits.Status != "True" {
		state.Reason, state.Message = waits.Reason, waits.Message
	}
	return state
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
