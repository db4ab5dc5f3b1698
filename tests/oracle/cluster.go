package main

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/meta/testrestmapper"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/expectations"
)

// startTime is the time at which every scenario begins, as in tests/engine/scenario.py.
var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// cluster is one Kueue with the API server and the controllers that it needs.
type cluster struct {
	ctx       context.Context
	client    client.Client
	tracker   testing.ObjectTracker
	clock     *testingclock.FakeClock
	cache     *schdcache.Cache
	queues    *qcache.Manager
	requeuer  interface{ ProcessRequeues(context.Context) int }
	scheduler *scheduler.Scheduler

	workloads     *core.WorkloadReconciler
	clusterQueues *core.ClusterQueueReconciler
	localQueues   *core.LocalQueueReconciler
	cohorts       *core.CohortReconciler
	checks        *core.AdmissionCheckReconciler
	flavors       *core.ResourceFlavorReconciler

	// seen holds workloads as the controllers last saw them.
	seen map[types.NamespacedName]*kueue.Workload
	// conflicts are workloads of which the next write of an admission or an eviction fails.
	conflicts sets.Set[types.NamespacedName]
	// unread are cohorts that the cache refused, for example because parents run in a circle.
	unread sets.Set[string]
	// nodes by name, and what pods other than TAS pods use of them.
	nodes     map[string]*corev1.Node
	nodeUsage map[string]nodeUsage

	spent  time.Duration
	cycles int

	// secondPasses starts the second passes of workloads.
	secondPasses *secondPassClock

	// ordersByUsage reports whether past usage of LocalQueues counts.
	ordersByUsage bool
}

func newCluster(configuration config.Configuration) *cluster {
	c := emptyCluster()
	c.client = c.newClient()
	c.equip(configuration)
	return c
}

func emptyCluster() *cluster {
	return &cluster{
		ctx:       context.Background(),
		clock:     testingclock.NewFakeClock(startTime),
		seen:      map[types.NamespacedName]*kueue.Workload{},
		conflicts: sets.New[types.NamespacedName](),
		unread:    sets.New[string](),
		nodes:     map[string]*corev1.Node{},
		nodeUsage: map[string]nodeUsage{},
	}
}

// equip creates the parts of Kueue that use the cluster's client.
func (c *cluster) equip(configuration config.Configuration) {
	sharing, history := configuration.FairSharing, configuration.AdmissionFairSharing
	c.ordersByUsage = history != nil
	counted := ptr.Deref(configuration.Resources, config.Resources{})
	preemptions := expectations.NewStore("preemptions")
	recorder := &events.FakeRecorder{}
	c.cache = schdcache.New(c.client,
		schdcache.WithFairSharing(sharing != nil),
		schdcache.WithAdmissionFairSharing(history),
		schdcache.WithExcludedResourcePrefixes(counted.ExcludeResourcePrefixes),
		schdcache.WithResourceTransformations(counted.Transformations),
	)
	c.secondPasses = newSecondPassClock(c.clock)
	c.queues, c.requeuer = qcache.NewManagerForUnitTestsWithRequeuer(
		c.client, c.cache, qcache.WithClock(c.secondPasses), qcache.WithPreemptionExpectations(preemptions),
		qcache.WithAdmissionFairSharing(history),
		qcache.WithExcludedResourcePrefixes(counted.ExcludeResourcePrefixes),
		qcache.WithResourceTransformations(counted.Transformations),
	)
	c.secondPasses.queues = c.queues
	c.scheduler = scheduler.New(c.queues, c.cache, c.client, recorder,
		scheduler.WithClock(nil, c.clock),
		scheduler.WithFairSharing(sharing),
		scheduler.WithAdmissionFairSharing(history),
		scheduler.WithQuotaCheckStrategy(ptr.Deref(counted.QuotaCheckStrategy, config.QuotaCheckBlockUndeclared)),
		scheduler.WithPreemptionExpectations(preemptions),
	)
	wrapAdmissions(c.scheduler, atOnce{})
	c.workloads = core.NewWorkloadReconciler(c.client, c.queues, c.cache, recorder,
		core.WithPreemptionExpectations(preemptions), core.WithAdmissionFairSharing(history),
	)
	setClock(c.workloads, c.clock)
	c.clusterQueues = core.NewClusterQueueReconciler(c.client, c.queues, c.cache)
	c.localQueues = core.NewLocalQueueReconciler(c.client, c.queues, c.cache,
		core.WithAdmissionFairSharingConfig(history), core.WithClock(c.clock),
	)
	c.checks = core.NewAdmissionCheckReconciler(c.client, c.queues, c.cache, nil)
	c.cohorts = core.NewCohortReconciler(c.client, c.cache, c.queues)
	c.flavors = core.NewResourceFlavorReconciler(c.client, c.queues, c.cache, nil)
}

// These know the kinds of scenarios; the same for all, since making them is slow.
var (
	scheme = newScheme()
	mapper = testrestmapper.TestOnlyStaticRESTMapper(scheme)
	codecs = serializer.NewCodecFactory(scheme)
)

func newScheme() *runtime.Scheme {
	made := runtime.NewScheme()
	must(corev1.AddToScheme(made))
	must(nodev1.AddToScheme(made))
	must(resourcev1.AddToScheme(made))
	must(kueue.AddToScheme(made))
	return made
}

func (c *cluster) newClient() client.Client {
	c.tracker = testing.NewObjectTracker(scheme, codecs.UniversalDecoder())
	builder := fake.NewClientBuilder().
		WithScheme(scheme).
		WithRESTMapper(mapper).
		WithObjectTracker(c.tracker).
		WithStatusSubresource(&kueue.Workload{}, &kueue.Cohort{}, &kueue.LocalQueue{}).
		WithInterceptorFuncs(interceptor.Funcs{Get: c.get, SubResourcePatch: c.patchStatus})
	must(indexer.Setup(c.ctx, builderIndexer{builder}))
	must(indexer.SetupWorkloadOwnerIndex(c.ctx, builderIndexer{builder}, jobKind))
	return builder.Build()
}

// builderIndexer sets the indexes of the real controllers up on a fake client.
type builderIndexer struct{ builder *fake.ClientBuilder }

func (b builderIndexer) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	b.builder.WithIndex(object, field, values)
	return nil
}

// get reads a copy of what is stored. The fake client would go by way of JSON, which costs more than all decisions together.
func (c *cluster) get(
	_ context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption,
) error {
	kind, err := apiutil.GVKForObject(into, scheme)
	if err != nil {
		return err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	found, err := c.tracker.Get(resource, key.Namespace, key.Name)
	if err != nil {
		return err
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found).Elem())
	into.SetManagedFields(nil)
	into.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// asStored is a copy as a server would give it back: what was written as empty is absent, and equal things hash alike.
func asStored[T any](value T) (stored T) {
	raw, err := json.Marshal(value)
	must(err)
	must(json.Unmarshal(raw, &stored))
	return stored
}

// patchStatus applies a workload's status on the server's behalf: one manager owns it all, so what is sent replaces what is
// stored, but for the pods that the job reclaims.
func (c *cluster) patchStatus(
	ctx context.Context, cl client.Client, subresource string, object client.Object, patch client.Patch,
	options ...client.SubResourcePatchOption,
) error {
	sent, ok := object.(*kueue.Workload)
	if !ok || patch.Type() != types.ApplyPatchType {
		return cl.SubResource(subresource).Patch(ctx, object, patch, options...)
	}
	var stored kueue.Workload
	if err := cl.Get(ctx, client.ObjectKeyFromObject(sent), &stored); err != nil {
		return err
	}
	if c.meetsConflict(sent, &stored) {
		resource := schema.GroupResource{Group: kueue.SchemeGroupVersion.Group, Resource: "workloads"}
		return apierrors.NewConflict(resource, sent.Name, nil)
	}
	reclaimable := stored.Status.ReclaimablePods
	stored.Status = asStored(sent.Status)
	stored.Status.ReclaimablePods = reclaimable
	if err := cl.SubResource(subresource).Update(ctx, &stored); err != nil {
		return err
	}
	stored.DeepCopyInto(sent)
	return nil
}
