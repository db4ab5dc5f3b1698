// Oracle lets the real Kueue decide about scenarios: one JSON object per line in, one answer per line out.
//
// The form of a scenario is the one of tests/engine/scenario.py; see README.md for what is answered.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	ctrl.SetLogger(logr.Discard())
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := json.NewEncoder(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			if err := out.Encode(answerTo(line)); err != nil {
				fmt.Fprintln(os.Stderr, "oracle: can't write the answer:", err)
				os.Exit(1)
			}
		}
		if err != nil {
			return
		}
	}
}

// answerTo never fails: what goes wrong is the answer.
func answerTo(line []byte) (answer Answer) {
	defer func() {
		if trouble := recover(); trouble != nil {
			answer.Error = fmt.Sprint(trouble)
		}
	}()
	var scenario Scenario
	answer.Steps = []map[string]WorkloadState{}
	must(json.Unmarshal(line, &scenario))
	defer setGates(scenario.Gates)()
	if scenario.FeatureGates {
		answer.FeatureGates = gateSpecs()
		return answer
	}
	if scenario.Benchmark != nil {
		result := runBenchmark(scenario)
		answer.BenchmarkResult = &result
		return answer
	}
	c := newCluster(scenario.Configuration)
	for _, manifest := range scenario.Objects {
		c.put(manifest)
	}
	for _, step := range scenario.Steps {
		answer.Steps = append(answer.Steps, c.perform(step))
	}
	answer.Nanoseconds = c.spent.Nanoseconds()
	answer.Cycles = c.cycles
	return answer
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
