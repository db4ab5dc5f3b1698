package main

import (
	"encoding/json"
	"fmt"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Scenario is what is asked.
type Scenario struct {
	Configuration config.Configuration `json:"configuration"`
	Gates         map[string]bool      `json:"gates"`
	Objects       []json.RawMessage    `json:"objects"`
	Steps         []Step               `json:"steps"`
	// Benchmark requests measurements instead of an answer to steps.
	Benchmark *Benchmark `json:"benchmark,omitempty"`
	// FeatureGates asks for the gates of this release instead.
	FeatureGates bool `json:"featureGates,omitempty"`
}

// Step has exactly one member, named by what is to be done.
type Step map[string]json.RawMessage

// Answer has one entry per step; steps after which nothing can have been decided have none.
type Answer struct {
	Steps           []map[string]WorkloadState `json:"steps"`
	Error           string                     `json:"error,omitempty"`
	Nanoseconds     int64                      `json:"nanoseconds"`
	Cycles          int                        `json:"cycles"`
	BenchmarkResult *BenchmarkResult           `json:"benchmarkResult,omitempty"`
	// FeatureGates by name.
	FeatureGates map[string]GateSpec `json:"featureGates,omitempty"`
}

// GateSpec is the stage and the default of a feature gate.
type GateSpec struct {
	Stage   string `json:"stage"`
	Default bool   `json:"default"`
	Locked  bool   `json:"locked"`
}

// WorkloadState is the part of a workload's state that is compared.
type WorkloadState struct {
	// State is pending, reserved or finished; an inactive workload is none of them.
	State       string       `json:"state"`
	Assignments []Assignment `json:"assignments,omitempty"`
	// Preempted is the reason of a preemption under way.
	Preempted string `json:"preempted,omitempty"`
	// Reason and Message are those of QuotaReserved=False.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Also are other texts that go round with these while nothing else moves.
	Also []Text `json:"also,omitempty"`
	// Evicted is the reason of an eviction under way that is no preemption, for want of nodes.
	Evicted string `json:"evicted,omitempty"`
	// UnhealthyNodes are those to be replaced.
	UnhealthyNodes []string `json:"unhealthyNodes,omitempty"`
	// Place is active or pool for what waits in a queue.
	Place string `json:"place,omitempty"`
}

// Text is one explanation of QuotaReserved=False.
type Text struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Assignment is what one pod set got.
type Assignment struct {
	Name    string            `json:"name"`
	Count   int32             `json:"count"`
	Flavors map[string]string `json:"flavors"`
	// Domains with their pods, in order, and the same as it is written.
	Domains  []string                  `json:"domains,omitempty"`
	Topology *kueue.TopologyAssignment `json:"topology,omitempty"`
	// Delayed is the state of a placement that comes after quota.
	Delayed string `json:"delayed,omitempty"`
}

// gateSpecs lists the feature gates that this release knows.
func gateSpecs() map[string]GateSpec {
	specs := map[string]GateSpec{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		stage := string(spec.PreRelease)
		if spec.PreRelease == featuregate.GA {
			stage = "GA"
		}
		specs[string(name)] = GateSpec{Stage: stage, Default: spec.Default, Locked: spec.LockToDefault}
	}
	return specs
}

// setGates flips gates of the process, as far as this Kueue has them; the returned function flips them back.
func setGates(gates map[string]bool) func() {
	gate := utilfeature.DefaultMutableFeatureGate
	known := gate.GetAll()
	before := map[string]bool{}
	for name, enabled := range gates {
		feature := featuregate.Feature(name)
		if _, exists := known[feature]; !exists || gate.Enabled(feature) == enabled {
			continue
		}
		before[name] = !enabled
		must(gate.Set(fmt.Sprintf("%s=%t", name, enabled)))
	}
	return func() {
		for name, enabled := range before {
			must(gate.Set(fmt.Sprintf("%s=%t", name, enabled)))
		}
	}
}
