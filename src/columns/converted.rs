//! Raw batches in an Arrow binary column in another format or codec: one result per value, null in, null out.

use arrow_array::BinaryArray;
use arrow_buffer::{Buffer, OffsetBuffer};

use super::bitmap;
use super::values::{OnBadValue, Values, too_much};
use crate::convert::{ConvertOptions, Converter};
use crate::error::{ErrorKind, Result};
use crate::framing::Source;
use crate::interrupt::Interrupt;
use crate::wire::Sink;

impl Values {
    /// Converts every value by itself. What stops a conversion (zstd on the way down) makes the value bad.
    ///
    /// # Errors
    /// With the row: what a conversion meets, `Loss` unless losses are allowed, when bad values raise; `Limit` when the results take more
    /// than 2^31-1 bytes.
    pub fn convert(
        &self,
        options: &ConvertOptions,
        is_loss_allowed: bool,
        on_bad: OnBadValue,
        interrupt: &Interrupt,
    ) -> Result<BinaryArray> {
        let (mut data, mut ends, mut nulls) = (Sink::default(), vec![0], Vec::new());
        for (index, value) in self.values().iter().enumerate() {
            interrupt.ensure_wanted()?;
            let start = data.len();
            let converted = value.as_ref().map(|value| convert_value(Source::memory(value.clone()), options, is_loss_allowed, &mut data));
            match converted {
                Some(Ok(())) => {}
                Some(Err(error)) if on_bad == OnBadValue::Raise => return Err(error.in_row(index)),
                None | Some(Err(_)) => {
                    data.truncate(start);
                    nulls.push(index);
                }
            }
            ends.push(i32::try_from(data.len()).map_err(|_| too_much())?);
        }
        let validity = bitmap::nulls(&nulls, self.values().len());
        Ok(BinaryArray::new(OffsetBuffer::new(ends.into()), Buffer::from_vec(data.into_vec()), validity))
    }
}

fn convert_value(source: Source, options: &ConvertOptions, is_loss_allowed: bool, out: &mut Sink) -> Result<()> {
    let mut converter = Converter::new(source, options.clone(), false)?;
    while converter.advance(out)? {}
    if let Some(stopped) = converter.stopped() {
        return Err(stopped.to_error());
    }
    if !is_loss_allowed && !converter.losses().is_empty() {
        return Err(ErrorKind::Loss { rule: "CNV-7", work: "conversion", losses: converter.losses().to_string() }.into());
    }
    Ok(())
}
