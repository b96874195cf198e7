# Everyday recipes. None is needed for `cargo demo` and `cargo test`.

# List the recipes.
default:
    @just --list

# The fast loop, first half: what can be said without running the controller. Seconds once all is built.
check: lint
    cargo test --quiet --package cartouche-repository

# The fast loop, second half: every rule by itself, without a cluster. Seconds once all is built.
unit *filter:
    cargo test --quiet --package cartouche-crds --package cartouche-language --package cartouche-engines --package cartouche-templating \
        --package cartouche-protocol --package cartouche-controller --lib {{ filter }}
    cargo test --quiet --package cartouche-authoring --package cartouche-cli --lib --test offline {{ filter }}

# Build the documentation of the code, private items too, and open it with `just doc --open`.
doc *options:
    RUSTDOCFLAGS='--deny warnings' cargo doc --workspace --no-deps --document-private-items {{ options }}

# Format the code.
fmt:
    cargo fmt --all

# Check format, lints and generated files.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- --deny warnings
    cargo generate --check

# Write what comes from the code and from config: config/crd, dist/install.yaml, the chart, and pages and tables in docs/reference.
generate:
    cargo generate

# Write tests/releases/renderings.json anew. Only until the first release is tagged, and never after: CONTRIBUTING.md, "Another hash".
renderings:
    UPDATE_RENDERINGS=1 cargo test --quiet --package cartouche-templating --test rules renderings

# Two controllers killed by turns while a chain of Runnables changes so many times; 200 take about half an hour.
chain changes="200" length="10":
    CHAIN_CHANGES={{ changes }} CHAIN_LENGTH={{ length }} cargo test --package cartouche-tests --test durability \
        -- --nocapture what_stems_from_one_change

# So many changes, one after the other, through a chain of so many Runnables: each runs once in each of them. 1000 take
# a quarter of an hour or more.
steady changes="1000" length="5":
    STEADY_CHANGES={{ changes }} STEADY_LENGTH={{ length }} cargo test --package cartouche-tests --test durability \
        -- --nocapture each_of_many_changes

# A profile that so many Runnables are pinned to is edited and deleted: no run, no write.
edited-profile runnables="1000":
    PROFILE_RUNNABLES={{ runnables }} cargo test --package cartouche-tests --test contract \
        -- --nocapture an_edit_of_a_profile_that_many

# Fuzz parsers, renderer, hash, names and status for so many minutes; the corpus grows.
fuzz minutes="5":
    FUZZ_MINUTES={{ minutes }} cargo test --package cartouche-templating --test rules -- --ignored --nocapture fuzz

# Change the ledger, the decisions and retention at every place, one at a time, and see that a unit test
# fails (`cargo install --locked cargo-mutants`). Some 230 changes: about an hour on two cores.
mutants *options:
    cargo mutants --package cartouche-protocol --in-place --cargo-arg=--lib --baseline skip --timeout 300 \
        --file 'protocol/src/ledger.rs' --file 'protocol/src/ledger/*.rs' \
        --file 'protocol/src/decide.rs' --file 'protocol/src/decide/*.rs' \
        --file 'protocol/src/retention.rs' --file 'protocol/src/process_state.rs' --output target/mutants {{ options }} \
        -- -- ledger decide retention process_state

# Run the tests: all, or those whose name contains the argument.
test *filter:
    cargo test --workspace {{ filter }}

# Take the texts that the tests see now as the expected ones; look at the difference before you commit it.
accept *filter:
    INSTA_UPDATE=always cargo test --workspace {{ filter }}

# Show Runnables at work on a local control plane; `just demo --help` shows the options.
demo *options:
    cargo demo {{ options }}

# Run examples/opentofu on a real node (Linux, root), with OpenTofu built from source: some minutes the first time.
tofu:
    cargo test --package cartouche-tests --test containers -- --ignored --nocapture tofu

# Play docs/how-to/flux.md with the real Flux, whose controllers are built from source: a quarter of an hour the first time, then some
# minutes.
flux:
    cargo test --package cartouche-tests --test engines -- --ignored --nocapture flux

# Check licences, advisories and sources of what Cartouche depends on.
deny:
    cargo deny --version || cargo install --quiet --locked cargo-deny@0.20.2
    cargo deny --all-features check --hide-inclusion-graph

# Play the tests of engines, GitOps tools and containers, all of which are built from source: Tekton, Argo Workflows, Kueue, the
# libraries of Argo CD and Flux, a kubelet with containerd. Three quarters of an hour the first time. Needs Linux and root.
engines:
    cargo test --workspace --no-fail-fast --test engines --test containers

# Play every test that `cargo test` ignores: Flux, OpenTofu, mutants that another test finds, a fuzz run. Needs Linux and root.
ignored:
    FUZZ_MINUTES=10 cargo test --workspace --no-fail-fast -- --ignored

# Install Cartouche on the cluster of the present kubectl context.
install:
    kubectl apply -k config/default

# Write dist/install.yaml with this image to target/dist, for example for a release.
install-file image:
    mkdir -p target/dist
    sed -e '/^#/d' -e 's|^\( *\)image: cartouche-controller:.*|\1image: {{ image }}|' dist/install.yaml >target/dist/install.yaml

# Build the controller as one static file.
build:
    RUSTFLAGS='-C target-feature=+crt-static' cargo build --locked --release \
        --package cartouche-controller --target x86_64-unknown-linux-gnu

# Build the image, with podman or another tool that takes the same arguments.
image tool="podman": build
    {{ tool }} build --file config/controller/Containerfile --tag cartouche-controller:0.1.0 \
        target/x86_64-unknown-linux-gnu/release

# Make what is released of the command, for this machine: archive, sums and krew's manifest, in target/dist. `base` is
# the URL below which the archives will be; archives of other machines that are put there get into the manifest too.
dist base="https://example.com/cartouche" profile="release":
    cargo build --locked --profile {{ profile }} --package cartouche-cli
    .ci/dist target/{{ if profile == "dev" { "debug" } else { profile } }}/cartouche target/dist {{ base }}

# Play the tutorials on a cluster and draw the picture of the README from what they print.
picture:
    UPDATE_PICTURE=1 cargo test --workspace --test live tutorials

# Build the pages of docs as a site, in target/book. Links to other files lead to the repository at this URL.
book repository="https://example.com/cartouche":
    .ci/book {{ repository }}

# Everything that continuous integration checks.
ci:
    .ci/run

# Check the protocol's model within bounds; `just model --all` is exhaustive and takes hours.
model *options:
    cargo run --release --package cartouche-model -- {{ options }}

# Play the controller in simulated clusters with random faults; a seed that fails replays exactly:
# `just simulate --seeds 10000`, `just simulate --seed 17 --trace`.
simulate *options:
    cargo run --release --package cartouche-simulation -- {{ options }}

# Break every request of the controller on a real API server; `just faults list` shows the plans.
faults *options="run":
    cargo faults {{ options }}

# Random faults, kills and changes for so many minutes; fails if a run is doubled or lost.
soak minutes="10" *options:
    cargo faults soak {{ minutes }} {{ options }}

# Play two releases at once over 200 Runnables in every state for five minutes with kills, and then at rest: some 10 minutes.
releases:
    RELEASES_RUNNABLES=200 RELEASES_SECONDS=300 RELEASES_SETTLE=75 RELEASES_REST=120 \
        cargo test --workspace --test durability -- --nocapture two_releases_at_once

# Measure the controller beside the ceiling of this machine; `just bench --help` shows the scenarios.
bench *options="together 100":
    cargo bench-cluster {{ options }}

# Play attacks on the controller, ten at once of each, and measure its memory, its requests at rest and the delay of others; those named, or
# all: some 20 minutes.
attacks *names:
    cargo bench-cluster attacks {{ names }} --seconds 30 --json target/attacks.json

# Play all that takes too long for each change, and build the site. Some hours.
nightly: deny engines ignored long book

# Play more of what `cargo test` plays a part of: states of the model, simulated clusters, fault plans, kills, two releases at once,
# long chains, attacks. Some hours.
long: model (simulate "--seeds" "3000") (faults "run" "--every" "8") (soak "60") releases (chain) (steady) attacks

# Profile the controller under load with perf; docs/internals/performance.md says what profiles have shown.
profile *options="together 100":
    cargo run --profile profiling --package cartouche-bench --bin bench-cluster -- {{ options }} \
        --no-references --perf target/controller.perf
    perf report --no-inline --input target/controller.perf
