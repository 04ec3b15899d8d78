package main

import (
	"context"
	"fmt"
	"maps"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
)

// searchAttributes is the one list of what workflows may be searched by. SQLite
// has room for ten keywords and three of each other type. Add freely; changing
// the type of one that exists is refused at the next start, because Temporal
// cannot do it.
var searchAttributes = map[string]enumspb.IndexedValueType{
	"FloeExperiment": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"FloeVariant":    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"FloeDesigner":   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"FloeState":      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"FloeRound":      enumspb.INDEXED_VALUE_TYPE_INT,
	"FloeValidRate":  enumspb.INDEXED_VALUE_TYPE_DOUBLE,
	"FloeSweep":      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"FloeArm":        enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"FloeTags":       enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}

// ensureSearchAttributes adds what the namespace lacks: a new namespace comes
// with the list, an old one may be from before a line was added to it.
func ensureSearchAttributes(ctx context.Context, operator operatorservice.OperatorServiceClient) error {
	list, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespaceName})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := maps.Clone(searchAttributes)
	for name, got := range list.CustomAttributes {
		if want, listed := searchAttributes[name]; listed && got != want {
			return fmt.Errorf("search attribute %s has type %v in this data folder; want %v: rename it in the list", name, got, want)
		}
		delete(missing, name)
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = operator.AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespaceName,
		SearchAttributes: missing,
	})
	if err != nil {
		return fmt.Errorf("add search attributes: %w", err)
	}
	return nil
}
