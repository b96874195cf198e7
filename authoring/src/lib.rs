//! Everything that authors of templates need without a cluster: check, render, test, draw and explain the manifests
//! in files.
//!
//! The command `cartouche` is built on it. It knows no cluster, starts no process and reads no clock; it reads and
//! writes only the files that it is given. The main path leads from files to findings:
//!
//! 1. [`Objects::load`](objects::Objects::load) reads files and folders. What cannot be read is a finding too.
//! 2. [`validate`](validate::validate) checks the objects with the schemas of a [`Catalog`](schema::catalog::Catalog).
//! 3. Each [`Finding`](finding::Finding) has a rule, a place in its file and a cure.
//!    [`report::write`](finding::report::write) writes all of them for people, as JSON, as SARIF, or as annotations
//!    of GitHub Actions.
//!
//! ```
//! use std::path::PathBuf;
//!
//! use cartouche_authoring::{
//!     finding::{Severity, report},
//!     objects::Objects,
//!     schema::catalog::Catalog,
//!     validate::{Knowledge, validate},
//! };
//!
//! let objects = Objects::load(&[PathBuf::from("../examples/job")])?;
//! let findings = validate(&objects, &Knowledge::new(Catalog::default()));
//! let sarif = report::write(&findings, report::Format::Sarif);
//! assert_eq!(report::count(&findings, Severity::Error), 0, "{sarif}");
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! Other paths begin with the same objects: [`render`] makes the object that the controller would create,
//! [`template_test`] compares it with the expected one, [`graph`] draws what derives from what, [`permissions`] names
//! the rights that a ServiceAccount needs, and [`input_schema::explain`] describes the inputs of a template.

pub mod finding;
pub mod foreign;
pub mod graph;
pub mod input_schema;
pub mod inputs_from;
pub mod manifests;
pub mod objects;
pub mod permissions;
mod profile_file;
pub mod remark;
pub mod render;
pub mod schema;
pub mod source;
pub mod starter;
pub mod template_file;
pub mod template_test;
mod unrendered;
pub mod validate;
pub mod yaml;
