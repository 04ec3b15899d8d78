package lake

import (
	"encoding/json"
	"reflect"
	"testing"
)

// FuzzPlainInstance holds the fast reader of instances against the strict one.
func FuzzPlainInstance(f *testing.F) {
	body, err := json.Marshal(crossing())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(body), `{"n":3,"grid":["FFF"],"starts":[[0,01]],"goals":[[1,1]]}`, `{"n":10,"grid":[],"starts":[],"goals":[]}`,
		`{"n":3,"grid":["FFF","FHF","FFF"],"starts":[[0,0],[0,1]],"goals":[[2,2],[2,1]]} `, `{"n":00}`, `{`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := plainInstance(body)
		if !ok {
			return
		}
		want, err := strictInstance(body)
		if sound := got.check() == nil; sound != (err == nil) || sound && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: fast %+v (sound: %t), strict %+v, %v", body, got, sound, want, err)
		}
	})
}

func TestInstancesAsDatasetsHaveThemAreReadFast(t *testing.T) {
	o := trainOrder(20, row(3, 0.5, 0.1, 0.2), row(10, 0.5, 0.3, 0.2))
	tasks, _ := generated(t, o)
	for _, task := range tasks {
		if _, ok := plainInstance(task.Instance); !ok {
			t.Errorf("%s is read the slow way", task.Instance)
		}
	}
}
