//! Places of info fields over a whole application.

use netil::module::InfoField;

/// Named fields of info memory; equal names are one field wherever they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InfoLayout {
    /// The fields in the order in which they came.
    pub fields: Vec<InfoField>,
}

impl InfoLayout {
    /// Bytes of info memory.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.fields.last().map_or(0, |last| last.offset + last.size)
    }

    /// The offset of a field; a new one goes behind the others. An error is the size that it has
    /// already.
    pub fn place(&mut self, name: &str, size: u32) -> Result<u32, u32> {
        if let Some(known) = self.fields.iter().find(|field| field.name == name) {
            return if known.size == size { Ok(known.offset) } else { Err(known.size) };
        }
        let offset = self.size();
        self.fields.push(InfoField { name: name.to_owned(), offset, size });
        Ok(offset)
    }
}
