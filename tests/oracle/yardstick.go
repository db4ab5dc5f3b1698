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

// Yardstick is queues and the jobs that arrive at them, in the order of their numbers; times are milliseconds.
type Yardstick struct {
	Namespace string `json:"namespace"`
	Jobs      []Job  `json:"jobs"`
}

// Job is one that arrives, and starts over whenever it is preempted.
type Job struct {
	Queue    string `json:"queue"`
	Size     int64  `json:"size"`
	Priority int32  `json:"priority"`
	At       int64  `json:"at"`
	Run      int64  `json:"run"`
}

// Figures are what a yardstick took.
type Figures struct {
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

// race plays a yardstick in virtual time.
type race struct {
	*world
	memory   *memory
	figures  Figures
	jobs     map[types.NamespacedName]*runner
	due      agenda
	numbers  int
	now      int64
	evicted  []types.NamespacedName
	cycling  time.Duration
	handling time.Duration
}

// runner is a job that has arrived, or will.
type runner struct {
	Job
	number int
	// starts counts how often it was started or stopped: an end that was planned for an earlier start does not count.
	starts int
}

// appointment is an arrival, or the end of one of a job's starts.
type appointment struct {
	at, number int64
	job        *runner
	start      int
}

const arrival = -1

type agenda []appointment

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	return a[i].at < a[j].at || a[i].at == a[j].at && a[i].number < a[j].number
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(appointment)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func runYardstick(scenario Scenario) Figures {
	stock := newMemory()
	r := &race{world: emptyWorld(), memory: stock, jobs: map[types.NamespacedName]*runner{}}
	r.world.client = stock
	r.equip(scenario.Configuration)
	for _, manifest := range scenario.Objects {
		r.setUp(manifest)
	}
	for number, job := range scenario.Yardstick.Jobs {
		r.plan(job.At, &runner{Job: job, number: number}, arrival)
	}
	for len(r.due) > 0 {
		r.step(scenario.Yardstick.Namespace)
	}
	r.figures.Makespan = r.now
	r.figures.Cycling, r.figures.Handling = r.cycling.Nanoseconds(), r.handling.Nanoseconds()
	return r.figures
}

// setUp puts up what is there from the first; nobody waits yet.
func (r *race) setUp(manifest json.RawMessage) {
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
		panic("yardsticks know no " + kind)
	}
}

func (r *race) plan(at int64, job *runner, start int) {
	heap.Push(&r.due, appointment{at, int64(r.numbers), job, start})
	r.numbers++
}

// step lets everything happen that is due at the next moment; then cycles run until they have nothing to say.
func (r *race) step(namespace string) {
	r.now = r.due[0].at
	r.clock.SetTime(dawn.Add(time.Duration(r.now) * time.Millisecond))
	for len(r.due) > 0 && r.due[0].at == r.now {
		next := heap.Pop(&r.due).(appointment)
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

func (r *race) arrive(namespace string, job *runner) {
	wl := &kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{
			Name: jobName(job.number), Namespace: namespace, Generation: 1,
			UID:               types.UID(fmt.Sprintf("0f6b2f0e-6a51-4f0e-9d5c-%012d", job.number)),
			CreationTimestamp: metav1.NewTime(dawn.Add(time.Duration(job.At) * time.Millisecond).Truncate(time.Second)),
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

func (r *race) end(namespace string, job *runner) {
	job.starts++
	wl := r.memory.workload(types.NamespacedName{Namespace: namespace, Name: jobName(job.number)}).DeepCopy()
	must(workloadfinish.Finish(r.ctx, r.client, wl, "Succeeded", "Job finished successfully", r.clock))
	r.figures.Finished++
	r.show()
}

// turn runs cycles until nothing moves, then lets the jobs of preempted workloads stop; whether somebody was admitted or
// has to go.
func (r *race) turn() bool {
	before := r.figures
	for {
		r.spend(&r.cycling, func() { r.requeuer.ProcessRequeues(r.ctx) })
		active, moves := r.active(), r.figures.Admissions+r.figures.Evictions
		if active == 0 {
			break
		}
		writing := r.memory.writing
		r.spend(&r.cycling, func() { runCycle(r.scheduler, r.ctx) })
		r.figures.Writing += (r.memory.writing - writing).Nanoseconds()
		r.figures.Cycles++
		r.show()
		if moves == r.figures.Admissions+r.figures.Evictions && active == r.active() {
			break
		}
	}
	r.release()
	return before.Admissions+before.Evictions != r.figures.Admissions+r.figures.Evictions
}

// active counts the workloads that could be heads.
func (r *race) active() int {
	total := 0
	for _, name := range r.queues.GetClusterQueueNames() {
		active, _ := queueOf(r.queues, name).Pending()
		total += active
	}
	return total
}

// show lets the controllers see what was written, as a watch would.
func (r *race) show() {
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
func (r *race) note(key types.NamespacedName, old, wl *kueue.Workload) {
	job := r.jobs[key]
	switch {
	case workload.HasQuotaReservation(wl) && !workload.HasQuotaReservation(old):
		r.figures.Admissions++
		job.starts++
		r.plan(r.now+job.Run, job, job.starts)
	case isEvicted(wl) && !isEvicted(old):
		r.figures.Evictions++
		job.starts++
		r.evicted = append(r.evicted, key)
	}
}

func isEvicted(wl *kueue.Workload) bool {
	return apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadEvicted)
}

// release gives the quota of evicted workloads back.
func (r *race) release() {
	evicted := r.evicted
	r.evicted = nil
	for _, key := range evicted {
		r.stop(r.memory.workload(key).DeepCopy())
	}
	r.show()
}

func (r *race) handle(event func()) { r.spend(&r.handling, event) }

// spend adds the CPU time that something takes, of all threads: what the garbage collector does meanwhile is part of it.
func (r *race) spend(account *time.Duration, do func()) {
	begin := cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID)
	do()
	*account += cpuTime(unix.CLOCK_PROCESS_CPUTIME_ID) - begin
}
