//! The controller as a program: its flags, and which builds of it start.

mod built_for_tests;
mod help;
