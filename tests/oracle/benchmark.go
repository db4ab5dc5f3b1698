package main

import (
	"container/heap"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"
	workloadfinish "sigs.k8s.io/kueue/pkg/workload/finish"
)

// Benchmark is the jobs that arrive at the queues of a scenario, in the order of their numbers; times are milliseconds.
type Benchmark struct {
	Namespace string `json:"namespace"`
	Jobs      []Job  `json:"jobs"`
}

// Job arrives at a time, and starts over whenever it is preempted.
type Job struct {
	Queue    string `json:"queue"`
	Size     int64  `json:"size"`
	Priority int32  `json:"priority"`
	At       int64  `json:"at"`
	Run      int64  `json:"run"`
}

// BenchmarkResult is what a benchmark counted and measured.
type BenchmarkResult struct {
	Admissions int   `json:"admissions"`
	Evictions  int   `json:"evictions"`
	Finished   int   `json:"finished"`
	Cycles     int   `json:"cycles"`
	Makespan   int64 `json:"makespan"`
	// Cycling and Handling are nanoseconds of CPU of the whole process within cycles and within event handlers, Writing
	// those of the writes of statuses within the cycles, which are part of Cycling.
	Cycling  int64 `json:"cycling"`
	Handling int64 `json:"handling"`
	Writing  int64 `json:"writing"`
}

// benchmarkRun runs a benchmark in virtual time.
type benchmarkRun struct {
	*cluster
	memory   *memory
	result   BenchmarkResult
	jobs     map[types.NamespacedName]*arrivingJob
	due      eventHeap
	numbers  int
	now      int64
	evicted  []types.NamespacedName
	cycling  time.Duration
	handling time.Duration
}

// arrivingJob is a job that has arrived or will arrive.
type arrivingJob struct {
	Job
	number int
	// starts counts how often it was started or stopped: an end that was planned for an earlier start does not count.
	starts int
}

// timedEvent is the arrival of a job, or the end of one of its starts.
type timedEvent struct {
	at, number int64
	job        *arrivingJob
	start      int
}

const arrival = -1

type eventHeap []timedEvent

func (h eventHeap) Len() int { return len(h) }
func (h eventHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].number < h[j].number
}
func (h eventHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *eventHeap) Push(x any)   { *h = append(*h, x.(timedEvent)) }
func (h *eventHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

func runBenchmark(scenario Scenario) BenchmarkResult {
	stock := newMemory()
	r := &benchmarkRun{cluster: emptyCluster(), memory: stock, jobs: map[types.NamespacedName]*arrivingJob{}}
	r.cluster.client = stock
	r.equip(scenario.Configuration)
	for _, manifest := range scenario.Objects {
		r.setUp(manifest)
	}
	for number, job := range scenario.Benchmark.Jobs {
		r.plan(job.At, &arrivingJob{Job: job, number: number}, arrival)
	}
	for len(r.due) > 0 {
		r.step(scenario.Benchmark.Namespace)
	}
	r.result.Makespan = r.now
	r.result.Cycling, r.result.Handling = r.cycling.Nanoseconds(), r.handling.Nanoseconds()
	return r.result
}

// setUp creates the initial objects, before any job arrives.
func (r *benchmarkRun) setUp(manifest json.RawMessage) {
	switch kind := read[metav1.TypeMeta](manifest).Kind; kind {
	case "Namespace":
		namespace := read[corev1.Namespace](manifest)
		must(r.client.Create(r.ctx, &namespace))
	case "ResourceFlavor":
		flavor := read[kueue.ResourceFlavor](manifest)
		must(r.client.Create(r.ctx, &flavor))
		r.flavors.Create(event.TypedCreateEvent[*kueue.ResourceFlavor]{Object: &flavor})
	case "ClusterQueue":
		queue := read[kueue.ClusterQueue](manifest)
		setQueueDefaults(&queue.Spec)
		must(r.client.Create(r.ctx, &queue))
		r.clusterQueues.Create(event.TypedCreateEvent[*kueue.ClusterQueue]{Object: &queue})
	case "LocalQueue":
		queue := read[kueue.LocalQueue](manifest)
		must(r.client.Create(r.ctx, &queue))
		r.localQueues.Create(event.TypedCreateEvent[*kueue.LocalQueue]{Object: &queue})
	default:
		panic("unsupported in benchmarks: " + kind)
	}
}

func (r *benchmarkRun) plan(at int64, job *arrivingJob, start int) {
	heap.Push(&r.due, timedEvent{at, int64(r.numbers), job, start})
	r.numbers++
}

// step lets everything happen that is due at the next moment; then cycles run until they have nothing to say.
func (r *benchmarkRun) step(namespace string) {
	r.now = r.due[0].at
	r.clock.SetTime(startTime.Add(time.Duration(r.now) * time.Millisecond))
	for len(r.due) > 0 && r.due[0].at == r.now {
		next := heap.Pop(&r.due).(timedEvent)
		switch {
		case next.start == arrival:
			r.arrive(namespace, next.job)
		case next.start == next.job.starts:
			r.end(namespace, next.job)
		}
	}
	for r.turn() {
	}
}

func (r *benchmarkRun) arrive(namespace string, job *arrivingJob) {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(job.number), Namespace: namespace, Generation: 1,
			UID:               types.UID(fmt.Sprintf("0f6b2f0e-6a51-4f0e-9d5c-%012d", job.number)),
			CreationTimestamp: metav1.NewTime(startTime.Add(time.Duration(job.At) * time.Millisecond).Truncate(time.Second)),
		},
		Spec: kueue.WorkloadSpec{
			QueueName: kueue.LocalQueueName(job.Queue), Priority: ptr.To(job.Priority), Active: ptr.To(true),
			PodSets: []kueue.PodSet{{Name: kueue.DefaultPodSetName, Count: 1, Template: podOf(job.Size)}},
		},
	}
	r.jobs[client.ObjectKeyFromObject(wl)] = job
	must(r.client.Create(r.ctx, wl))
	r.seen[client.ObjectKeyFromObject(wl)] = wl
	r.handle(func() { r.workloads.Create(event.TypedCreateEvent[*kueue.Workload]{Object: wl}) })
}

func jobName(number int) string { return fmt.Sprintf("job-%06d", number) }

func podOf(size int64) corev1.PodTemplateSpec {
	requests := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(size, resource.DecimalSI)}
	container := corev1.Container{Name: "c", Image: "sleep", Resources: corev1.ResourceRequirements{Requests: requests}}
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
}

func (r *benchmarkRun) end(namespace string, job *arrivingJob) {
	job.starts++
	wl := r.memory.workload(types.NamespacedName{Namespace: namespace, Name: jobName(job.number)}).DeepCopy()
	must(workloadfinish.Finish(r.ctx, r.client, wl, "Succeeded", "Job finished successfully", r.clock))
	r.result.Finished++
	r.show()
}

// turn runs cycles until nothing moves, then lets the jobs of preempted workloads stop; it reports
// whether any workload was admitted or evicted.
func (r *benchmarkRun) turn() bool {
	before := r.result
	for {
		r.spend(&r.cycling, func() { r.requeuer.ProcessRequeues(r.ctx) })
		active, moves := r.active(), r.result.Admissions+r.result.Evictions
		if active == 0 {
			break
		}
		writing := r.memory.writing
		r.spend(&r.cycling, func() { runCycle(r.scheduler, r.ctx) })
		r.result.Writing += (r.memory.writing - writing).Nanoseconds()
		r.result.Cycles++
		r.show()
		if moves == r.result.Admissions+r.result.Evictions && active == r.active() {
			break
		}
	}
	r.release()
	return before.Admissions+before.Evictions != r.result.Admissions+r.result.Evictions
}

// active counts the workloads that could be heads.
func (r *benchmarkRun) active() int {
	total := 0
	for _, name := range r.queues.GetClusterQueueNames() {
		active, _ := queueOf(r.queues, name).Pending()
		total += active
	}
	return total
}

// show lets the controllers see what was written, as a watch would.
func (r *benchmarkRun) show() {
	written := r.memory.written
	r.memory.written = nil
	for _, stored := range written {
		wl := stored.DeepCopy()
		key := client.ObjectKeyFromObject(wl)
		old := r.seen[key]
		r.seen[key] = wl
		r.note(key, old, wl)
		r.handle(func() { r.workloads.Update(event.TypedUpdateEvent[*kueue.Workload]{ObjectOld: old, ObjectNew: wl}) })
	}
}

// note counts what a write decided, and starts and stops jobs by it.
func (r *benchmarkRun) note(key types.NamespacedName, old, wl *kueue.Workload) {
	job := r.jobs[key]
	switch {
	case workload.HasQuotaReservation(wl) && !workload.HasQuotaReservation(old):
		r.result.Admissions++
		job.starts++
		r.plan(r.now+job.Run, job, job.starts)
	case isEvicted(wl) && !isEvicted(old):
		r.result.Evictions++
		job.starts++
		r.evicted = append(r.evicted, key)
	}
}

func isEvicted(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted)
}

// release gives the quota of evicted workloads back.
func (r *benchmarkRun) release() {
	evicted := r.evicted
	r.evicted = nil
	for _, key := range evicted {
		r.stop(r.memory.workload(key).DeepCopy())
	}
	r.show()
}

func (r *benchmarkRun) handle(event func()) { r.spend(&r.handling, event) }

// spend adds the CPU time that something takes, of all threads: what the garbage collector does meanwhile is part of it.
func (r *benchmarkRun) spend(account *time.Duration, do func()) {
	begin := cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)
	do()
	*account += cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID) - begin
}
