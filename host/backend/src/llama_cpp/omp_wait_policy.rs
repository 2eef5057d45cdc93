//! Wait policy of llama.cpp's threads.

/// Number of times a thread spins before it sleeps, in GNU OpenMP's unit: some microseconds.
///
/// Compute threads synchronize hundreds of times per token, mostly within microseconds. A thread that sleeps
/// immediately must be woken each time, which costs a tenth of the total time. If the cores are also used by other
/// work, a thread that never sleeps takes the core from the very thread that it waits for. Everything then takes nearly
/// twice as long.
const LOOKS: &str = "10000";

/// Returns OpenMP variables for a model process, which OpenMP reads before `main`. Empty if the user configured how
/// threads wait.
pub fn thread_environment() -> Vec<(&'static str, &'static str)> {
    let wanted = [("OMP_WAIT_POLICY", "passive"), ("GOMP_SPINCOUNT", LOOKS)];
    let is_set = |name: &str| std::env::var_os(name).is_some();
    if is_set("OMP_WAIT_POLICY") {
        return Vec::new();
    }
    wanted.into_iter().filter(|(name, _)| !is_set(name)).collect()
}
