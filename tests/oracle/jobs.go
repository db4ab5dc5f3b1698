package main

import (
	"encoding/json"
	"slices"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
	workloadpatching "sigs.k8s.io/kueue/pkg/workload/patching"
	"sigs.k8s.io/kueue/pkg/workloadslicing"
)

// jobKind is the owner of elastic workloads.
var jobKind = batchv1.SchemeGroupVersion.WithKind("Job")

// syncChecks lists the AdmissionChecks of workloads with quota, as the workload controller does. Those that are answered stay.
func (c *cluster) syncChecks() {
	for _, wl := range c.stored() {
		if !workload.HasQuotaReservation(wl) || workloadfinish.IsFinished(wl) || workloadevict.IsEvicted(wl) {
			continue
		}
		var queue kueue.ClusterQueue
		must(c.client.Get(c.ctx, types.NamespacedName{Name: string(wl.Status.Admission.ClusterQueue)}, &queue))
		listed := len(wl.Status.AdmissionChecks)
		for name := range workload.AdmissionChecksForWorkload(logr.Discard(), wl, &queue) {
			if !slices.ContainsFunc(wl.Status.AdmissionChecks, func(s kueue.AdmissionCheckState) bool { return s.Name == name }) {
				state := kueue.AdmissionCheckState{Name: name, State: kueue.CheckStatePending}
				workloadpatching.SetAdmissionCheckState(&wl.Status.AdmissionChecks, state, c.clock)
			}
		}
		if len(wl.Status.AdmissionChecks) > listed {
			workload.SyncAdmittedCondition(wl, c.clock.Now())
			must(c.client.Status().Update(c.ctx, wl))
		}
	}
}

// passChecks lets the checks of a workload with quota be ready, with what they request of its pods.
func (c *cluster) passChecks(raw json.RawMessage) {
	what := read[struct {
		Workload      json.RawMessage
		PodSetUpdates []kueue.PodSetUpdate
	}](raw)
	var wl kueue.Workload
	must(c.client.Get(c.ctx, keyOf(what.Workload), &wl))
	if workload.HasAllChecksReady(&wl) || !workload.HasQuotaReservation(&wl) || workloadfinish.IsFinished(&wl) || workloadevict.IsEvicted(&wl) {
		return
	}
	for _, check := range slices.Clone(wl.Status.AdmissionChecks) {
		check.State, check.PodSetUpdates = kueue.CheckStateReady, what.PodSetUpdates
		workloadpatching.SetAdmissionCheckState(&wl.Status.AdmissionChecks, check, c.clock)
	}
	workload.SyncAdmittedCondition(&wl, c.clock.Now())
	must(c.client.Status().Update(c.ctx, &wl))
	c.deliver()
}

// scale lets an elastic job have as many pods as the workload that is sent: its slice is changed, or the sent one becomes the next
// slice. Nothing happens while a slice is evicted.
func (c *cluster) scale(raw json.RawMessage) {
	sent := asStored(read[kueue.Workload](raw))
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: sent.Namespace, Name: sent.OwnerReferences[0].Name}}
	existing, err := workloadslicing.FindNotFinishedWorkloads(c.ctx, c.client, job, jobKind)
	must(err)
	if len(existing) == 0 || slices.ContainsFunc(existing, func(wl kueue.Workload) bool { return workloadevict.IsEvicted(&wl) }) {
		return
	}
	slice, compatible, err := workloadslicing.EnsureWorkloadSlices(c.ctx, c.client, c.clock, sent.Spec.PodSets, job, jobKind)
	must(err)
	if slice == nil && compatible {
		old := existing[len(existing)-1]
		sent.Annotations[workloadslicing.WorkloadSliceReplacementFor] = string(workload.Key(&old))
		c.putWorkload(sent)
	}
	c.deliver()
}

// endJob finishes all slices of an elastic job.
func (c *cluster) endJob(raw json.RawMessage) {
	key := keyOf(raw)
	for _, wl := range c.slicesOf(key) {
		must(workloadfinish.Finish(c.ctx, c.client, wl, "Succeeded", "Job finished successfully", c.clock))
	}
	c.deliver()
}

// slicesOf lists the unfinished slices of an elastic job.
func (c *cluster) slicesOf(job types.NamespacedName) []*kueue.Workload {
	return slices.DeleteFunc(c.stored(), func(wl *kueue.Workload) bool {
		return wl.Namespace != job.Namespace || len(wl.OwnerReferences) == 0 || wl.OwnerReferences[0].Name != job.Name ||
			workloadfinish.IsFinished(wl)
	})
}

// isOneOfSeveral reports whether an elastic job has another slice: an evicted one ends then, and does not wait again.
func (c *cluster) isOneOfSeveral(wl *kueue.Workload) bool {
	if !workloadslicing.IsElasticWorkload(wl) {
		return false
	}
	return len(c.slicesOf(types.NamespacedName{Namespace: wl.Namespace, Name: wl.OwnerReferences[0].Name})) > 1
}
