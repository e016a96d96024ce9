//! Tables and the clock.

use super::Run;
use crate::exec::TrapKind;
use crate::module::Inst;
use crate::table::Op;
use crate::wide;

impl Run<'_, '_> {
    pub(super) fn table(&mut self, inst: &Inst) -> Result<(), TrapKind> {
        let [table, width, at] = inst.imm;
        match inst.op {
            Op::TNone => self.push(0),
            Op::TValid => {
                let entry = self.pop();
                self.push((entry != 0).into());
            }
            Op::TLoad => {
                let entry = self.pop();
                let value = wide::from_le_bytes(self.machine.entry(table, entry, at, width / 8)?);
                self.stack.extend(value);
            }
            Op::TStore => {
                let entry = self.pop();
                let value = self.pop_wide(width as u16);
                wide::to_le_bytes(&value, self.machine.entry_mut(table, entry, at, width / 8)?);
            }
            op => {
                let key = self.pop_wide(self.program.module().tables[table as usize].key_bits);
                let result = self.look_up(op, table, &key);
                self.push(result);
            }
        }
        Ok(())
    }

    pub(super) fn walk(&mut self, inst: &Inst) -> Result<(), TrapKind> {
        let table = inst.imm[0];
        match inst.op {
            Op::TWalk => {
                let count = self.machine.walk(table, &mut self.budget)?;
                self.push(count);
            }
            Op::TDue => {
                let count = self.machine.due(table, &mut self.budget)?;
                self.push(count);
            }
            Op::TNext => {
                let found = self.machine.next_key(table);
                self.push(found.into());
            }
            Op::TKey => {
                let mut key = vec![0; wide::limbs(self.program.module().tables[table as usize].key_bits)];
                self.machine.state.walked_key(table, &mut key);
                self.stack.extend(key);
            }
            _ => {
                let end = self.machine.deadline(table);
                self.stack.push(end);
            }
        }
        Ok(())
    }

    fn look_up(&mut self, op: Op, table: u32, key: &[u64]) -> u32 {
        match op {
            Op::TInsert => self.machine.insert(table, key),
            Op::TDelete => self.machine.delete_entry(table, key).into(),
            _ => self.machine.find(table, key, op == Op::TFind),
        }
    }

    pub(super) fn set_time(&mut self, inst: &Inst) {
        let time = self.pop_wide(64)[0];
        match inst.op {
            Op::TimerSet => self.machine.state.timers[inst.imm[0] as usize] = time,
            _ => self.machine.buffer.time_ns = time,
        }
    }
}
