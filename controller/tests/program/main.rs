//! The controller as a program: which builds of it start.

mod built_for_tests;
