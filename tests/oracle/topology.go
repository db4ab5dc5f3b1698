package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	utiltas "sigs.k8s.io/kueue/pkg/util/tas"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadevict "sigs.k8s.io/kueue/pkg/workload/evict"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
)

// putNode does what the node controller does, in a handler that is not exported.
func (c *cluster) putNode(node *corev1.Node) {
	old := c.nodes[node.Name]
	c.nodes[node.Name] = node
	c.cache.TASCache().SyncNode(node)
	c.retryOnChange(old, node)
}

func (c *cluster) deleteNode(name string) {
	old := c.nodes[name]
	delete(c.nodes, name)
	c.cache.TASCache().DeleteNodeByName(name)
	c.retryOnChange(old, nil)
}

// retryOnChange reactivates workloads where a usable node came, went or changed. The real one does so on every change of
// conditions, annotations and taints that repel no pods too, and in all active ClusterQueues.
func (c *cluster) retryOnChange(old, node *corev1.Node) {
	if !isUsable(old) {
		old = nil
	}
	if !isUsable(node) {
		node = nil
	}
	if old == nil || node == nil || !equality.Semantic.DeepEqual(old.Labels, node.Labels) ||
		!slices.Equal(blockingTaints(old), blockingTaints(node)) ||
		!equality.Semantic.DeepEqual(old.Status.Allocatable, node.Status.Allocatable) {
		c.retryOnNodes(old, node)
	}
}

func blockingTaints(node *corev1.Node) []string {
	var found []string
	for _, taint := range node.Spec.Taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule {
			found = append(found, taint.ToString())
		}
	}
	return found
}

func isUsable(node *corev1.Node) bool {
	return node != nil && !node.Spec.Unschedulable &&
		utiltas.IsNodeStatusConditionTrue(node.Status.Conditions, corev1.NodeReady)
}

// retryOnNodes reactivates inadmissible workloads of the ClusterQueues that use a flavor of one of the nodes.
func (c *cluster) retryOnNodes(nodes ...*corev1.Node) {
	queues := sets.New[kueue.ClusterQueueReference]()
	for _, node := range nodes {
		if node == nil {
			continue
		}
		for name, flavor := range c.cache.CloneTASCache() {
			if utiltas.NodeMatchesFlavor(node.Labels, flavor.NodeLabels(), flavor.TopologyLevels()) {
				queues.Insert(c.cache.ClusterQueuesUsingFlavor(name)...)
			}
		}
	}
	qcache.NotifyRetryInadmissible(c.queues, queues)
}

// putTopology reads a Topology. This release never changes the levels of one that it knows, so the old one is forgotten first.
func (c *cluster) putTopology(topology *kueue.Topology) {
	c.cache.DeleteTopology(logr.Discard(), kueue.TopologyReference(topology.Name))
	c.cache.AddOrUpdateTopology(logr.Discard(), topology)
	c.retryOnTopology(topology.Name)
}

func (c *cluster) deleteTopology(name string) {
	c.cache.DeleteTopology(logr.Discard(), kueue.TopologyReference(name))
}

func (c *cluster) retryOnTopology(name string) {
	queues := sets.New(c.cache.ClusterQueuesUsingTopology(kueue.TopologyReference(name))...)
	qcache.NotifyRetryInadmissible(c.queues, queues)
}

// forgetFlavor lets the cache take over changed labels and tolerations of a TAS flavor, which are immutable in this release.
func (c *cluster) forgetFlavor(old, flavor *kueue.ResourceFlavor) {
	if old.Spec.TopologyName != nil && !equality.Semantic.DeepEqual(old.Spec, flavor.Spec) {
		c.cache.DeleteResourceFlavor(logr.Discard(), old)
	}
}

// useNode sets what pods other than TAS pods use of a node: one pod has all requests, the others have none.
func (c *cluster) useNode(raw json.RawMessage) {
	now := read[nodeUsage](raw)
	old := c.nodeUsage[now.Node]
	for index := range max(now.Pods, old.Pods) {
		if index < now.Pods {
			c.cache.TASCache().Update(now.pod(index), logr.Discard())
		} else {
			c.cache.TASCache().DeletePodByKey(client.ObjectKeyFromObject(old.pod(index)), logr.Discard())
		}
	}
	c.nodeUsage[now.Node] = now
	if node := c.nodes[now.Node]; isUsable(node) && old.shrinksTo(now) {
		c.retryOnNodes(node)
	}
}

// nodeUsage is what pods other than TAS pods use of a node.
type nodeUsage struct {
	Node     string
	Pods     int
	Requests corev1.ResourceList
}

func (u nodeUsage) shrinksTo(now nodeUsage) bool {
	for name, amount := range u.Requests {
		if rest := now.Requests[name]; rest.Cmp(amount) < 0 {
			return true
		}
	}
	return now.Pods < u.Pods
}

func (u nodeUsage) pod(index int) *corev1.Pod {
	resources := corev1.ResourceRequirements{}
	if index == 0 {
		resources.Requests = u.Requests
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: fmt.Sprintf("%s-%d", u.Node, index)},
		Spec:       corev1.PodSpec{NodeName: u.Node, Containers: []corev1.Container{{Resources: resources}}},
	}
}

// failNode marks a node as failed for the workloads that are placed on it, as the node controller does: the second failed
// node of a workload evicts it.
func (c *cluster) failNode(name string) {
	for _, wl := range c.stored() {
		if !workload.IsAdmitted(wl) || workloadfinish.IsFinished(wl) || workloadevict.IsEvicted(wl) ||
			!slices.Contains(workload.TASAssignedNodeNames(wl), name) || workload.HasUnhealthyNode(wl, name) {
			continue
		}
		if workload.HasUnhealthyNodes(wl) {
			c.evictForNodes(wl, name)
			continue
		}
		wl.Status.UnhealthyNodes = []kueue.UnhealthyNode{{Name: name}}
		must(c.client.Status().Update(c.ctx, wl))
	}
	c.deliver()
}

func (c *cluster) evictForNodes(wl *kueue.Workload, name string) {
	message := fmt.Sprintf("Workload eviction triggered due to multiple TAS assigned node failures, including: %s, %s",
		strings.Join(workload.UnhealthyNodeNames(wl), ", "), name)
	must(workloadevict.Evict(c.ctx, c.client, &events.FakeRecorder{}, wl, kueue.WorkloadEvictedDueToNodeFailures, message, "",
		c.clock, false, nil, nil))
}

// queuesOfFlavors names the ClusterQueues of flavors, and of all flavors that share hosts with them.
func (c *cluster) queuesOfFlavors(flavors map[corev1.ResourceName]kueue.ResourceFlavorReference) []kueue.ClusterQueueReference {
	var queues []kueue.ClusterQueueReference
	known := c.cache.CloneTASCache()
	for _, name := range flavors {
		queues = append(queues, c.cache.ClusterQueuesUsingFlavor(name)...)
		if own := known[name]; own != nil && utiltas.IsLowestLevelHostname(own.TopologyLevels()) {
			for other, flavor := range known {
				if utiltas.IsLowestLevelHostname(flavor.TopologyLevels()) {
					queues = append(queues, c.cache.ClusterQueuesUsingFlavor(other)...)
				}
			}
		}
	}
	return queues
}

// movesPods reports whether pods of a workload that stays admitted got other domains than they had.
func movesPods(old, now *kueue.Workload) bool {
	if old.Status.Admission == nil || now.Status.Admission == nil {
		return false
	}
	return !slices.EqualFunc(old.Status.Admission.PodSetAssignments, now.Status.Admission.PodSetAssignments,
		func(a, b kueue.PodSetAssignment) bool {
			return a.TopologyAssignment == nil || equality.Semantic.DeepEqual(a.TopologyAssignment, b.TopologyAssignment)
		})
}

// domainsOf lists the domains of a topology assignment with their pods, in order.
func domainsOf(assignment *kueue.TopologyAssignment) []string {
	if assignment == nil {
		return nil
	}
	var found []string
	for _, each := range utiltas.InternalFrom(assignment).Domains {
		found = append(found, fmt.Sprintf("%s:%d", strings.Join(each.Values, "/"), each.Count))
	}
	return found
}
