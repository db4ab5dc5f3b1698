// Recorder answers patches and ownership questions with Kubernetes' own libraries: JSON lines in, JSON lines out.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type question struct {
	Op          string                `json:"op"`
	APIVersion  string                `json:"apiVersion"`
	Kind        string                `json:"kind"`
	Subresource string                `json:"subresource"`
	Manager     string                `json:"manager"`
	Force       bool                  `json:"force"`
	Live        json.RawMessage       `json:"live"`
	Object      json.RawMessage       `json:"object"`
	Patch       json.RawMessage       `json:"patch"`
	Schema      json.RawMessage       `json:"schema"`  // of a custom kind
	Deduced     bool                  `json:"deduced"` // no schema at all
	Reset       map[string][][]string `json:"reset"`   // version -> paths that this endpoint must not own
}

type answer struct {
	Live   any    `json:"live,omitempty"`
	Object any    `json:"object,omitempty"`
	Code   int    `json:"code,omitempty"`
	Error  string `json:"error,omitempty"`
	Reason string `json:"reason,omitempty"`
	Causes any    `json:"causes,omitempty"`
	Empty  any    `json:"empty,omitempty"`
}

// plain passes objects through: one version, no defaults.
type plain struct {
	gvk     schema.GroupVersionKind
	builtin bool
}

func (p plain) Convert(in, out, context any) error { return errors.New("not used") }
func (p plain) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return in, nil
}
func (p plain) ConvertFieldLabel(_ schema.GroupVersionKind, _, _ string) (string, string, error) {
	return "", "", errors.New("not used")
}
func (p plain) Default(runtime.Object) {}
func (p plain) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	return blank(kind, p.builtin)
}

func blank(kind schema.GroupVersionKind, builtin bool) (runtime.Object, error) {
	if !builtin {
		u := &unstructured.Unstructured{Object: map[string]any{}}
		u.SetGroupVersionKind(kind)
		return u, nil
	}
	obj, err := scheme.Scheme.New(kind)
	if err == nil {
		obj.GetObjectKind().SetGroupVersionKind(kind)
	}
	return obj, err
}

func read(raw json.RawMessage, kind schema.GroupVersionKind, builtin bool) (runtime.Object, error) {
	obj, err := blank(kind, builtin)
	if err != nil || len(raw) == 0 || string(raw) == "null" {
		return obj, err
	}
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u, kjson.Unmarshal(raw, &u.Object)
	}
	return obj, kjson.Unmarshal(raw, obj)
}

func shown(obj runtime.Object) any {
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	var out any
	if err := kjson.Unmarshal(raw, &out); err != nil {
		panic(err)
	}
	return json.RawMessage(raw)
}

var builtinTypes = applyconfigurations.NewTypeConverter(scheme.Scheme)

func types(q *question) (managedfields.TypeConverter, error) {
	if q.Deduced {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	if len(q.Schema) == 0 {
		return builtinTypes, nil
	}
	definitions := map[string]*spec.Schema{}
	if err := json.Unmarshal(q.Schema, &definitions); err != nil {
		return nil, err
	}
	return managedfields.NewTypeConverter(definitions, false)
}

func manager(q *question) (*managedfields.FieldManager, schema.GroupVersionKind, bool, error) {
	gv, _ := schema.ParseGroupVersion(q.APIVersion)
	kind := gv.WithKind(q.Kind)
	builtin := len(q.Schema) == 0 && !q.Deduced
	converter, err := types(q)
	if err != nil {
		return nil, kind, builtin, err
	}
	reset := map[fieldpath.APIVersion]fieldpath.Filter{}
	for version, paths := range q.Reset {
		set := fieldpath.NewSet()
		for _, path := range paths {
			parts := []any{}
			for _, part := range path {
				parts = append(parts, part)
			}
			set.Insert(fieldpath.MakePathOrDie(parts...))
		}
		reset[fieldpath.APIVersion(version)] = fieldpath.NewExcludeSetFilter(set)
	}
	p := plain{kind, builtin}
	if builtin {
		m, err := managedfields.NewDefaultFieldManager(converter, p, p, p, kind, gv, q.Subresource, reset)
		return m, kind, builtin, err
	}
	m, err := managedfields.NewDefaultCRDFieldManager(converter, p, p, p, kind, gv, q.Subresource, reset)
	return m, kind, builtin, err
}

func owned(q *question) (a answer, err error) {
	m, kind, builtin, err := manager(q)
	if err != nil {
		return a, err
	}
	live, err := read(q.Live, kind, builtin)
	if err != nil {
		return a, err
	}
	a.Live = shown(live)
	var result runtime.Object
	if q.Op == "update" {
		object, err := read(q.Object, kind, builtin)
		if err != nil {
			return a, err
		}
		a.Empty = shown(object)
		result, err = m.Update(live, object, q.Manager)
		if err != nil {
			return a, err
		}
	} else {
		object, err := read(q.Object, kind, false)
		if err != nil {
			return a, err
		}
		if result, err = m.Apply(live, object, q.Manager, q.Force); err != nil {
			return a, err
		}
	}
	a.Object = shown(result)
	return a, nil
}

func jsonPatch(q *question) (a answer, err error) {
	jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024
	patch, err := jsonpatch.DecodePatch(q.Patch)
	if err != nil {
		return a, apierrors.NewBadRequest(err.Error())
	}
	result, err := patch.Apply(q.Object)
	if err != nil {
		return a, err
	}
	a.Object = json.RawMessage(result)
	return a, nil
}

func strategic(q *question) (a answer, err error) {
	gv, _ := schema.ParseGroupVersion(q.APIVersion)
	obj, err := scheme.Scheme.New(gv.WithKind(q.Kind))
	if err != nil {
		return a, err
	}
	var original, patch map[string]any
	if err = kjson.Unmarshal(q.Object, &original); err != nil {
		return a, err
	}
	if err = kjson.Unmarshal(q.Patch, &patch); err != nil {
		return a, apierrors.NewBadRequest(err.Error())
	}
	result, err := strategicpatch.StrategicMergeMapPatch(original, patch, obj)
	switch err {
	case nil:
		a.Object = result
	case mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat:
		return a, apierrors.NewBadRequest(err.Error())
	}
	return a, err
}

func reply(q *question) (a answer) {
	defer func() {
		if r := recover(); r != nil {
			a.Error, a.Code = fmt.Sprint("panic: ", r), 500
		}
	}()
	var err error
	switch q.Op {
	case "json":
		a, err = jsonPatch(q)
	case "merge":
		var result []byte
		if result, err = jsonpatch.MergePatch(q.Object, q.Patch); err == nil {
			a.Object = json.RawMessage(result)
		}
	case "strategic":
		a, err = strategic(q)
	case "blank":
		gv, _ := schema.ParseGroupVersion(q.APIVersion)
		var obj runtime.Object
		if obj, err = blank(gv.WithKind(q.Kind), true); err == nil {
			a.Object = shown(obj)
		}
	default:
		a, err = owned(q)
	}
	if err != nil {
		a.Error = err.Error()
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			a.Code, a.Reason = int(status.Status().Code), string(status.Status().Reason)
			if details := status.Status().Details; details != nil {
				a.Causes = details.Causes
			}
		}
	}
	return a
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 1 {
			var q question
			var a answer
			if bad := json.Unmarshal(line, &q); bad != nil {
				a.Error = bad.Error()
			} else {
				a = reply(&q)
			}
			if bad := encoder.Encode(a); bad != nil {
				panic(bad)
			}
			out.Flush()
		}
		if err != nil {
			return
		}
	}
}
