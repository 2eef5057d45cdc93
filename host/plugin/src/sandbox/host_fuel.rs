//! The fuel of the host's work for a guest.

use parking_lot::Mutex;
use std::sync::Arc;
use wasmtime::Trap;

/// Fuel for each byte that the host creates for a guest, or reads from it.
const FUEL_PER_BYTE: u64 = 100;

/// Fuel that is left for bytes that the host creates for a guest or reads from it. The guest's own fuel does not count
/// them, so a guest that asks for many would end by its time, which depends on the machine. Clones share the fuel.
#[derive(Clone)]
pub(super) struct HostFuel(Arc<Mutex<u64>>);

impl HostFuel {
    pub(super) fn new(fuel: u64) -> HostFuel {
        HostFuel(Arc::new(Mutex::new(fuel)))
    }

    /// Uses the fuel of some bytes.
    ///
    /// # Errors
    /// The trap that ends a guest without fuel, if there is too little left.
    pub(super) fn use_for(&self, bytes: u64) -> Result<(), Trap> {
        let mut left = self.0.lock();
        *left = left.checked_sub(bytes.saturating_mul(FUEL_PER_BYTE)).ok_or(Trap::OutOfFuel)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_use_up_the_fuel_of_all_clones() {
        let fuel = HostFuel::new(10 * FUEL_PER_BYTE);
        for (bytes, expected) in
            [(6, Ok(())), (5, Err(Trap::OutOfFuel)), (u64::MAX, Err(Trap::OutOfFuel)), (4, Ok(()))]
        {
            assert_eq!(fuel.clone().use_for(bytes), expected, "{bytes}");
        }
        assert_eq!(fuel.use_for(1), Err(Trap::OutOfFuel));
    }
}
