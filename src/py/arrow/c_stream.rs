//! A stream as the C struct of Arrow's stream interface. Errors keep their own text, and a panic becomes an error, never an abort.
#![expect(unsafe_code, reason = "callbacks of a C interface")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, RecordBatch, StructArray};
use arrow_schema::SchemaRef;

/// The source of a C stream, for its callbacks.
pub trait BatchFeed: Send + Sync + 'static {
    /// The schema of every batch.
    fn schema(&self) -> SchemaRef;
    /// The next batch, or the text of what went wrong.
    ///
    /// # Errors
    /// The text that the consumer shows.
    fn next(&self) -> Result<Option<RecordBatch>, String>;
}

/// `struct ArrowArrayStream` of the Arrow specification, field for field.
#[repr(C)]
pub struct CStream {
    get_schema: Option<unsafe extern "C" fn(*mut CStream, *mut FFI_ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut CStream, *mut FFI_ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut CStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut CStream)>,
    private_data: *mut c_void,
}

struct Private {
    feed: Arc<dyn BatchFeed>,
    last_error: CString,
}

const EINVAL: c_int = 22;

// SAFETY: the private data is a `Private`, whose feed is Send and Sync and whose text is only written by the one consumer of the stream.
unsafe impl Send for CStream {}

impl CStream {
    /// A stream over this feed.
    pub fn new(feed: Arc<dyn BatchFeed>) -> Self {
        let private = Box::new(Private { feed, last_error: CString::default() });
        Self {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release),
            private_data: Box::into_raw(private).cast(),
        }
    }
}

impl Drop for CStream {
    fn drop(&mut self) {
        if let Some(release) = self.release {
            // SAFETY: a stream that nobody moved out of still owns its private data, and `release` frees it once: it clears itself.
            unsafe { release(self) };
        }
    }
}

unsafe extern "C" fn get_schema(stream: *mut CStream, out: *mut FFI_ArrowSchema) -> c_int {
    // SAFETY: the consumer passes a stream that `new` made and has not released, and room for a schema.
    unsafe {
        let private = &mut *(*stream).private_data.cast::<Private>();
        let made =
            catch_unwind(AssertUnwindSafe(|| FFI_ArrowSchema::try_from(private.feed.schema().as_ref()).map_err(|error| error.to_string())));
        match made.unwrap_or_else(|_| Err(PANICKED.to_owned())) {
            Ok(schema) => {
                std::ptr::write(out, schema);
                0
            }
            Err(text) => private.fail(&text),
        }
    }
}

unsafe extern "C" fn get_next(stream: *mut CStream, out: *mut FFI_ArrowArray) -> c_int {
    // SAFETY: as above, with room for an array.
    unsafe {
        let private = &mut *(*stream).private_data.cast::<Private>();
        let next = catch_unwind(AssertUnwindSafe(|| {
            let batch = private.feed.next()?;
            Ok(batch.map_or_else(FFI_ArrowArray::empty, |batch| FFI_ArrowArray::new(&StructArray::from(batch).to_data())))
        }));
        match next.unwrap_or_else(|_| Err(PANICKED.to_owned())) {
            Ok(array) => {
                std::ptr::write(out, array);
                0
            }
            Err(text) => private.fail(&text),
        }
    }
}

unsafe extern "C" fn get_last_error(stream: *mut CStream) -> *const c_char {
    // SAFETY: as above; the text lives until the next call on the stream, as the specification asks.
    unsafe { (*(*stream).private_data.cast::<Private>()).last_error.as_ptr() }
}

unsafe extern "C" fn release(stream: *mut CStream) {
    // SAFETY: called once by the owner of the stream; afterwards the struct says that it is released.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<Private>()));
        (*stream).private_data = std::ptr::null_mut();
        (*stream).release = None;
    }
}

const PANICKED: &str = "[INTERNAL] internal error, please report it: the stream panicked";

impl Private {
    fn fail(&mut self, text: &str) -> c_int {
        self.last_error = CString::new(text.replace('\0', " ")).unwrap_or_default();
        EINVAL
    }
}
