package all

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	yamlv3 "gopkg.in/yaml.v3"
	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"floe/internal/experiment"
)

// trainerContainer is where the trainer runs, unless the pod has one container.
const trainerContainer = "trainer"

// template reads the pod of a Kubernetes job strictly, makes the trainer's
// container if there is none at all, and gives it the image of the settings,
// which comes before that of the template.
func template(s experiment.KubernetesSpec) (corev1.PodTemplateSpec, error) {
	pod, err := readTemplate(s.Template)
	if err != nil {
		return pod, err
	}
	if len(pod.Spec.Containers) == 0 {
		pod.Spec.Containers = []corev1.Container{{Name: trainerContainer}}
	}
	at := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == trainerContainer })
	if at < 0 && len(pod.Spec.Containers) > 1 {
		return pod, fmt.Errorf("job.kubernetes.template: spec.containers: found %d, none called %s; want one with that name, for the training", len(pod.Spec.Containers), trainerContainer)
	}
	c := &pod.Spec.Containers[max(at, 0)]
	if s.Image != "" {
		c.Image = s.Image
	}
	if c.Image == "" {
		return pod, errors.New("job.kubernetes.image: found nothing, neither here nor in the template; want the image with trainer and referee")
	}
	return pod, nil
}

// readTemplate refuses keys that Kubernetes does not know, as they would be
// dropped in silence, and keys given twice.
func readTemplate(text string) (pod corev1.PodTemplateSpec, err error) {
	if err := oneDocument(text); err != nil {
		return pod, fmt.Errorf("job.kubernetes.template: %w", err)
	}
	body, err := yaml.YAMLToJSONStrict([]byte(text)) // strict: keys that are given twice
	if err != nil {
		return pod, fmt.Errorf("job.kubernetes.template: %w", err)
	}
	faults, err := kjson.UnmarshalStrict(body, &pod)
	if err := errors.Join(append(faults, err)...); err != nil {
		hint := ""
		if strings.Contains(err.Error(), `"kind"`) || strings.Contains(err.Error(), `field "containers"`) {
			hint = "; want a pod template: metadata and spec, without apiVersion and kind"
		}
		return pod, fmt.Errorf("job.kubernetes.template: %w%s", err, hint)
	}
	return pod, nil
}

// oneDocument refuses what the reader would pass over: all after the first.
func oneDocument(text string) error {
	d := yamlv3.NewDecoder(bytes.NewReader([]byte(text)))
	for n := 0; ; n++ {
		var node yamlv3.Node
		err := d.Decode(&node)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n > 0 {
			return errors.New("found more than one document; want one")
		}
	}
}
