// Structured cloning of Blob and File, which do not depend on it themselves.
const { blob, clone } = realm;

if (blob !== undefined) {
  // The bytes never change, so the copy shares the chunks.
  clone.serializable({
    is: blob.isFile,
    clone: (file) => blob.asFile(file, file.name, file.lastModified),
  });
  clone.serializable({
    is: blob.isBlob,
    clone: (value) => blob.newBlob(blob.chunksOf(value), blob.typeOf(value)),
  });
}
