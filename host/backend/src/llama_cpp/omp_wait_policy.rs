//! Wait policy of llama.cpp's threads.

/// How often a thread looks before it sleeps, in the unit of GNU's OpenMP: some microseconds.
///
/// Threads that compute together meet hundreds of times a token, and mostly within microseconds: a thread that sleeps at
/// once has to be woken each time, which costs a tenth of all. One that never sleeps takes the core from the very thread
/// that it waits for where cores do other work as well, and everything takes nearly twice as long.
const LOOKS: &str = "10000";

/// Variables that OpenMP reads before `main`, with what they are to be in a process that runs a model; none where the user
/// says how threads wait.
pub fn thread_environment() -> Vec<(&'static str, &'static str)> {
    let wanted = [("OMP_WAIT_POLICY", "passive"), ("GOMP_SPINCOUNT", LOOKS)];
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set("OMP_WAIT_POLICY") {
        return Vec::new();
    }
    wanted.into_iter().filter(|(name, _)| !is_set(name)).collect()
}
