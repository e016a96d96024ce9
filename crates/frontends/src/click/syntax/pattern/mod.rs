//! Patterns of packets, as `Classifier`, `IPClassifier` and `IPFilter` have them, to C functions
//! that choose an output.

mod classifier;
mod cubes;
mod emit;
mod fields;
mod formula;
mod ipfilter;
mod primitive;
mod program;
mod table;
mod words;
mod writer;

pub(super) use classifier::write as classifier;
pub(super) use ipfilter::{classifier as ip_classifier, filter as ip_filter};

#[cfg(test)]
mod tests;
#[cfg(test)]
mod texts;
