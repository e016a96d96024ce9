//! Tests of what threads hand packets over with: [`models`] are small and run in every order that
//! the memory model allows or in random ones, as they are built; [`threads`] run on real threads.

#[cfg(any(loom, shuttle))]
mod models;
#[cfg(not(any(loom, shuttle)))]
mod threads;
