package config

// Project is the project file, floe.yaml: which servers this project talks to.
// What it does not say comes from the environment (TEMPORAL_*, AWS_*), and so
// do all secrets and TLS files: keys for them are refused here.
type Project struct {
	Temporal ProjectTemporal `yaml:"temporal" doc:"The Temporal server."`
	S3       ProjectS3       `yaml:"s3" doc:"The S3-compatible store that holds the artifacts."`
	Data     string          `yaml:"data" doc:"Folder of the development stack."`
}

// ProjectTemporal says which Temporal server.
type ProjectTemporal struct {
	Address   string `yaml:"address" pattern:"^[^\\s/@]+:[0-9]{1,5}$" want:"HOST:PORT" doc:"HOST:PORT of the server's frontend. The API key and TLS come from TEMPORAL_API_KEY and TEMPORAL_TLS_* of the environment."`
	Namespace string `yaml:"namespace" doc:"Namespace of the experiments."`
	UI        string `yaml:"ui" doc:"URL of the Web UI, for links."`
}

// ProjectS3 says which store.
type ProjectS3 struct {
	Endpoint  string `yaml:"endpoint" doc:"URL of the server; AWS when absent. Credentials come from the environment or a profile."`
	Bucket    string `yaml:"bucket" pattern:"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$" want:"3 to 63 lower-case letters, digits, dots and dashes" doc:"Bucket of the artifacts."`
	Region    string `yaml:"region" doc:"Region of the bucket."`
	Profile   string `yaml:"profile" doc:"Profile in the shared AWS configuration files."`
	PathStyle *bool  `yaml:"path_style" doc:"Bucket in the path instead of the host name; when absent, yes where an endpoint is set."`
	Checksums string `yaml:"checksums" enum:"when_supported|when_required" doc:"when_required for stores that do not know the newer checksums."`
}

// LoadProject reads a project file. File is its name, for faults; the error is a
// *Faults.
func LoadProject(file string, src []byte) (Project, error) {
	s := source{file: file}
	root, faults := s.parse(src)
	if root == nil {
		return Project{}, s.faults(faults)
	}
	p, d := decode[Project](root)
	d.checkURL("temporal.ui", p.Temporal.UI)
	d.checkURL("s3.endpoint", p.S3.Endpoint)
	if err := s.faults(append(faults, d.Faults...)); err != nil {
		return Project{}, err
	}
	return p, nil
}
