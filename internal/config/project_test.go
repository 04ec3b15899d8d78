package config_test

import (
	"errors"
	"reflect"
	"testing"

	"floe/internal/config"
)

func TestAProjectFileNamesServers(t *testing.T) {
	got, err := config.LoadProject("floe.yaml", []byte(`
temporal: {address: "127.0.0.1:7233", namespace: default, ui: http://127.0.0.1:8233}
s3: {endpoint: http://127.0.0.1:9000, bucket: floe, region: eu-west-1, profile: lab, path_style: true, checksums: when_required}
data: .floe
`))
	yes := true
	want := config.Project{
		Temporal: config.ProjectTemporal{Address: "127.0.0.1:7233", Namespace: "default", UI: "http://127.0.0.1:8233"},
		S3: config.ProjectS3{
			Endpoint: "http://127.0.0.1:9000", Bucket: "floe", Region: "eu-west-1", Profile: "lab",
			PathStyle: &yes, Checksums: "when_required",
		},
		Data: ".floe",
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestWhatAProjectFileDoesNotSayIsLeftToTheEnvironment(t *testing.T) {
	got, err := config.LoadProject("floe.yaml", []byte("s3: {}"))
	if err != nil || !reflect.DeepEqual(got, config.Project{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestLoadProjectRefuses(t *testing.T) {
	const secrets = "; want no secrets in files: the environment gives them (OPENAI_API_KEY, TEMPORAL_API_KEY, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
	for _, c := range []struct{ name, src, want string }{
		{"an API key", "temporal: {api_key: x}", "p.yaml:1:12: temporal: found the key api_key" + secrets},
		{"an access key", "s3:\n  access_key_id: x\n  secretKey: y", "p.yaml:2:3: s3: found the key access_key_id" + secrets + "\np.yaml:3:3: s3: found the key secretKey" + secrets},
		{"a typo", "s3: {buckt: x}", `p.yaml:1:6: s3: found unknown key "buckt"; did you mean bucket?`},
		{"TLS", "temporal: {tls: {}}", `p.yaml:1:12: temporal: found unknown key "tls"; want one of address, namespace, ui`},
		{"an address without a port", "temporal: {address: localhost}", `p.yaml:1:21: temporal.address: found "localhost"; want HOST:PORT`},
		{"a URL as an address", "temporal: {address: 'http://localhost:7233'}", `p.yaml:1:21: temporal.address: found "http://localhost:7233"; want HOST:PORT`},
		{"yes", "s3: {path_style: yes}", `p.yaml:1:18: s3.path_style: found "yes"; want true or false (write true)`},
		{"off", "s3: {path_style: Off}", `p.yaml:1:18: s3.path_style: found "Off"; want true or false (write false)`},
		{"a number for a truth", "s3: {path_style: 1}", "p.yaml:1:18: s3.path_style: found 1; want true or false"},
		{"a quoted truth", "s3: {path_style: 'true'}", `p.yaml:1:18: s3.path_style: found "true"; want true or false`},
		{"checksums", "s3: {checksums: when_needed}", `p.yaml:1:17: s3.checksums: found "when_needed"; want one of when_supported, when_required`},
		{"a bucket", "s3: {bucket: My_Bucket}", `p.yaml:1:14: s3.bucket: found "My_Bucket"; want 3 to 63 lower-case letters, digits, dots and dashes`},
		{
			"credentials in an address", "s3: {endpoint: 'http://id:secret@host'}",
			"p.yaml:1:16: s3.endpoint: found a user or password in the address, and files hold no secrets; want an http or https URL",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := config.LoadProject("p.yaml", []byte(c.src))
			var faults *config.Faults
			if !errors.As(err, &faults) || err.Error() != c.want {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}
