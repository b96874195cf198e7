//! Benchmark of the command on a folder with a thousand templates, each with its Runnable.

use std::{fmt::Write as _, fs, process::Command};

fn main() {
    divan::main();
}

/// Creates a folder with that many templates of Jobs that declare their inputs, and a Runnable for each.
fn folder(count: usize) -> std::io::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for number in 0..count {
        let mut text = String::new();
        let _ = write!(
            text,
            "\
apiVersion: carto.run/v1alpha1
kind: ClusterRunTemplate
metadata:
  name: build-{number}
spec:
  inputSchema:
    type: object
    required: [image]
    properties:
      image: {{type: string, pattern: '^[a-z0-9./:-]+$'}}
      workers: {{type: integer, minimum: 1, default: 2}}
  template:
    apiVersion: batch/v1
    kind: Job
    metadata:
      generateName: $(runnable.metadata.name)$-
    spec:
      parallelism: $(runnable.spec.inputs.workers)$
      backoffLimit: 0
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: build
              image: $(runnable.spec.inputs.image)$
              command: [echo, 'run {number} of $(runnable.metadata.name)$']
              resources: {{requests: {{cpu: 10m, memory: 16Mi}}}}
  outputs:
    pods: .status.succeeded
---
apiVersion: carto.run/v1alpha1
kind: Runnable
metadata:
  name: app-{number}
spec:
  runTemplateRef: {{name: build-{number}}}
  inputs: {{image: registry.example.com/app:{number}}}
"
        );
        fs::write(folder.path().join(format!("{number}.yaml")), text)?;
    }
    Ok(folder)
}

fn run(bencher: divan::Bencher<'_, '_>, command: &str) {
    let folder = match folder(1_000) {
        Ok(folder) => folder,
        Err(error) => return eprintln!("the folder cannot be written: {error}"),
    };
    bencher.bench_local(|| {
        let output = Command::new(env!("CARGO_BIN_EXE_cartouche"))
            .arg(command)
            .arg(folder.path())
            .output();
        assert!(
            output.as_ref().is_ok_and(|output| output.status.success()),
            "{output:?}"
        );
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn validate(bencher: divan::Bencher<'_, '_>) {
    run(bencher, "validate");
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn render(bencher: divan::Bencher<'_, '_>) {
    run(bencher, "render");
}
