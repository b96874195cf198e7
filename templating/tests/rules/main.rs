//! The documented rules of templates, by example and by random input.

mod expressions;
mod fuzz;
mod heavy;
mod kinds;
mod properties;
mod renderings;
