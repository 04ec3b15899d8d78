package s3

import (
	"context"

	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

const acceptEncoding = "Accept-Encoding"

// unsignedEncoding leaves Accept-Encoding out of the signature. Google Cloud Storage
// rewrites the header on the way to the server, which then finds another signature
// than the one that was made.
func unsignedEncoding(stack *middleware.Stack) error {
	var kept string
	take := middleware.FinalizeMiddlewareFunc("TakeAcceptEncoding", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok {
			kept = r.Header.Get(acceptEncoding)
			r.Header.Del(acceptEncoding)
		}
		return next.HandleFinalize(ctx, in)
	})
	put := middleware.FinalizeMiddlewareFunc("PutAcceptEncoding", func(ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler) (middleware.FinalizeOutput, middleware.Metadata, error) {
		if r, ok := in.Request.(*smithyhttp.Request); ok && kept != "" {
			r.Header.Set(acceptEncoding, kept)
		}
		return next.HandleFinalize(ctx, in)
	})
	if err := stack.Finalize.Insert(take, "Signing", middleware.Before); err != nil {
		return err
	}
	return stack.Finalize.Insert(put, "Signing", middleware.After)
}
