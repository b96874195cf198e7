//! Bad input of every sort: a condition and a Warning report the defect and its place; outputs, history and
//! running runs stay as they are; others go on.

mod case;
mod documents;
mod fields;
mod objects;
mod tables;
