//! Emulates AMX, for tests on processors without it: a handler of the illegal-instruction signal does what the instruction would
//! have done, as specified in Intel's manual (volume 2, "Intel AMX instruction set").

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Once;

/// Installs the emulation. The processor must have AVX-512, which the kernels also need.
pub(super) fn install() {
    static START: Once = Once::new();
    // SAFETY: the handler only accesses its thread's tiles and the instruction's operands.
    START.call_once(|| unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle_signal as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGILL, &action, ptr::null_mut()), 0);
    });
}

const N_TILES: usize = 8;
const MAX_ROWS: usize = 16;
const ROW_BYTES: usize = 64;

type Tile = [[u8; ROW_BYTES]; MAX_ROWS];

struct EmulatedTiles {
    tiles: [Tile; N_TILES],
    /// Rows, and bytes of a row, of each tile.
    shapes: [(usize, usize); N_TILES],
}

thread_local! {
    static TILES: UnsafeCell<EmulatedTiles> = const {
        UnsafeCell::new(EmulatedTiles { tiles: [[[0; ROW_BYTES]; MAX_ROWS]; N_TILES], shapes: [(0, 0); N_TILES] })
    };
}

/// Executes the instruction and continues after it. An instruction other than AMX ends the process, as without the handler.
extern "C" fn handle_signal(signal: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system passes the interrupted thread's registers; nothing else uses this thread's tiles at this time.
    unsafe {
        let registers = &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        let at = registers[libc::REG_RIP as usize] as *const u8;
        let length = TILES.with(|tiles| (*tiles.get()).execute(at, registers));
        match length {
            Some(length) => registers[libc::REG_RIP as usize] += length as i64,
            None => _ = libc::signal(signal, libc::SIG_DFL),
        }
    }
}

/// A memory operand: `base + displacement` as the address, the scaled index register as the stride.
struct Operand {
    address: usize,
    stride: usize,
    n_bytes: usize,
}

impl EmulatedTiles {
    /// Executes an instruction and returns its length in bytes; `None` if it is not a valid AMX instruction.
    unsafe fn execute(&mut self, at: *const u8, registers: &[i64; 23]) -> Option<usize> {
        /// Escape, opcode map and prefix: VEX, 0F 38.
        const PREFIX: usize = 3;
        // SAFETY: an instruction of this form has these bytes; the first two identify others.
        let [vex, high_bits, low_bits, opcode, form] = unsafe { at.cast::<[u8; 5]>().read_unaligned() };
        if vex != 0xc4 || high_bits & 0x1f != 2 {
            return None;
        }
        let prefix = low_bits & 3;
        let third = usize::from(!low_bits >> 3 & 7);
        let (register, second) = (usize::from(form >> 3 & 7), usize::from(form & 7));
        // SAFETY: reads the operand from the instruction's own bytes.
        let operand = || unsafe { operand(at.add(PREFIX + 1), high_bits, registers) };
        // SAFETY: the instruction itself would read and write the same memory.
        let n_bytes = unsafe {
            match (opcode, prefix, form >> 6) {
                // ldtilecfg
                (0x49, 0, 0..=2) => {
                    let operand = operand()?;
                    self.configure(&*(operand.address as *const [u8; 64]))?;
                    operand.n_bytes
                }
                // tilerelease
                (0x49, 0, 3) => {
                    self.shapes = Default::default();
                    1
                }
                // tilezero
                (0x49, 3, 3) => {
                    self.tiles[register] = [[0; ROW_BYTES]; MAX_ROWS];
                    1
                }
                // tileloadd
                (0x4b, 3, 0..=2) => {
                    let operand = operand()?;
                    let (n_rows, row_bytes) = self.shape(register)?;
                    let mut tile = [[0; ROW_BYTES]; MAX_ROWS];
                    for (row, to) in tile.iter_mut().enumerate().take(n_rows) {
                        let from = (operand.address + row * operand.stride) as *const u8;
                        ptr::copy_nonoverlapping(from, to.as_mut_ptr(), row_bytes);
                    }
                    self.tiles[register] = tile;
                    operand.n_bytes
                }
                // tilestored
                (0x4b, 2, 0..=2) => {
                    let operand = operand()?;
                    let (n_rows, row_bytes) = self.shape(register)?;
                    for (row, from) in self.tiles[register].iter().enumerate().take(n_rows) {
                        let to = (operand.address + row * operand.stride) as *mut u8;
                        ptr::copy_nonoverlapping(from.as_ptr(), to, row_bytes);
                    }
                    operand.n_bytes
                }
                // tdpbssd
                (0x5e, 3, 3) => {
                    self.multiply(register, second, third)?;
                    1
                }
                _ => return None,
            }
        };
        Some(PREFIX + 1 + n_bytes)
    }

    fn configure(&mut self, to: &[u8; 64]) -> Option<()> {
        let shapes = std::array::from_fn(|tile| {
            let row_bytes = u16::from_le_bytes([to[16 + 2 * tile], to[17 + 2 * tile]]);
            (usize::from(to[48 + tile]), usize::from(row_bytes))
        });
        let is_valid = to[0] == 1 && shapes.iter().all(|&(rows, bytes)| rows <= MAX_ROWS && bytes <= ROW_BYTES);
        *self = Self { tiles: [[[0; ROW_BYTES]; MAX_ROWS]; N_TILES], shapes };
        is_valid.then_some(())
    }

    /// The shape of a tile; `None` if it is not configured.
    fn shape(&self, tile: usize) -> Option<(usize, usize)> {
        let shape = self.shapes[tile];
        (shape.0 > 0 && shape.1 > 0).then_some(shape)
    }

    /// `sums[m][n] += Σ_k a[m][k] · b[k / 4][4 n + k % 4]`, signed bytes times signed bytes.
    fn multiply(&mut self, sums: usize, a: usize, b: usize) -> Option<()> {
        let (n_rows, sums_bytes) = self.shape(sums)?;
        let (a_shape, b_shape) = (self.shape(a)?, self.shape(b)?);
        let tiles_differ = sums != a && sums != b && a != b;
        if !tiles_differ || a_shape.0 != n_rows || a_shape.1 != 4 * b_shape.0 || b_shape.1 != sums_bytes {
            return None;
        }
        let (a, b) = (self.tiles[a], self.tiles[b]);
        for (sums, a) in self.tiles[sums].iter_mut().zip(&a).take(n_rows) {
            let sums = sums.as_chunks_mut::<4>().0;
            for (a, b) in a[..a_shape.1].as_chunks::<4>().0.iter().zip(&b) {
                for (sum, b) in sums.iter_mut().zip(b.as_chunks::<4>().0).take(sums_bytes / 4) {
                    let products = a.iter().zip(b).map(|(&a, &b)| i32::from(a as i8) * i32::from(b as i8));
                    *sum = i32::from_ne_bytes(*sum).wrapping_add(products.sum()).to_ne_bytes();
                }
            }
        }
        Some(())
    }
}

/// Decodes ModRM, SIB and displacement.
unsafe fn operand(at: *const u8, high_bits: u8, registers: &[i64; 23]) -> Option<Operand> {
    /// In the order of the register numbers.
    const REGISTERS: [libc::c_int; 16] = [
        libc::REG_RAX,
        libc::REG_RCX,
        libc::REG_RDX,
        libc::REG_RBX,
        libc::REG_RSP,
        libc::REG_RBP,
        libc::REG_RSI,
        libc::REG_RDI,
        libc::REG_R8,
        libc::REG_R9,
        libc::REG_R10,
        libc::REG_R11,
        libc::REG_R12,
        libc::REG_R13,
        libc::REG_R14,
        libc::REG_R15,
    ];
    // The prefix has the registers' fourth bits, inverted.
    let register = |low: u8, high_bit: u8| {
        let number = usize::from(low & 7) + if high_bits & high_bit == 0 { 8 } else { 0 };
        registers[REGISTERS[number] as usize] as usize
    };
    // SAFETY: the form byte determines which bytes the instruction has.
    unsafe {
        let form = at.read();
        let (mode, has_index) = (form >> 6, form & 7 == 4);
        let scaled = if has_index { at.add(1).read() } else { form & 7 };
        // No base register: the kernels' assembly does not use such addresses.
        if mode == 0 && scaled & 7 == 5 {
            return None;
        }
        let place = at.add(1 + usize::from(has_index));
        let (displacement, n_bytes) = match mode {
            0 => (0, 0),
            1 => (place.cast::<i8>().read() as isize, 1),
            _ => (place.cast::<i32>().read_unaligned() as isize, 4),
        };
        // The stack pointer's number as the index means no index.
        let is_stack_pointer = scaled >> 3 & 7 == 4 && high_bits & 0x40 != 0;
        let stride = if has_index && !is_stack_pointer { register(scaled >> 3, 0x40) << (scaled >> 6) } else { 0 };
        Some(Operand {
            address: register(scaled, 0x20).wrapping_add_signed(displacement),
            stride,
            n_bytes: 1 + usize::from(has_index) + n_bytes,
        })
    }
}
