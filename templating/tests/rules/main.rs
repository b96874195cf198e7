//! The rules of templates as they are documented, by example and by chance.

mod expressions;
mod fuzz;
mod heavy;
mod kinds;
mod properties;
mod renderings;
