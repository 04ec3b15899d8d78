package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// needs are the rights of docs/kubernetes-role.yaml.
var needs = []authorizationv1.ResourceAttributes{
	{Group: "batch", Resource: "jobs", Verb: "get"},
	{Group: "batch", Resource: "jobs", Verb: "create"},
	{Group: "batch", Resource: "jobs", Verb: "patch"},
	{Group: "batch", Resource: "jobs", Verb: "delete"},
	{Resource: "pods", Verb: "list"},
	{Resource: "pods", Verb: "delete"},
	{Resource: "pods", Subresource: "log", Verb: "get"},
}

const checkWithin = 10 * time.Second

// Check implements job.Backend: the server answers, and lets the worker do in the
// namespace what it must, also what it will need only to stop a job.
func (b *Backend) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkWithin)
	defer cancel()
	var errs []error
	if _, err := b.jobs.List(ctx, metav1.ListOptions{Limit: 1}); err != nil {
		errs = append(errs, b.served(ctx, err))
		if !apierrors.IsForbidden(err) {
			return b.trouble(errs)
		}
	}
	for _, need := range needs {
		need.Namespace = b.settings.Namespace
		errs = append(errs, b.may(ctx, need))
	}
	return b.trouble(errs)
}

// may asks the server whether the worker has a right. Where even that is
// forbidden nothing is known, and nothing said.
func (b *Backend) may(ctx context.Context, need authorizationv1.ResourceAttributes) error {
	review, err := b.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &need},
	}, metav1.CreateOptions{})
	if apierrors.IsForbidden(err) {
		return nil
	}
	if err != nil || review.Status.Allowed {
		return err
	}
	what := need.Resource
	if need.Subresource != "" {
		what += "/" + need.Subresource
	}
	return fmt.Errorf("the worker may not %s %s; docs/kubernetes-role.yaml has what it needs", need.Verb, what)
}

func (b *Backend) trouble(errs []error) error {
	err := errors.Join(errs...)
	if err != nil {
		err = fmt.Errorf("kubernetes back end: namespace %s: %w", b.settings.Namespace, err)
	}
	return err
}
