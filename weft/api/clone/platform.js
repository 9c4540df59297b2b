// Structured cloning of Blob and File, whose room knows nothing of it.
const { blob, clone } = realm;

if (blob !== undefined) {
  // Their bytes never change, so the copy has the same chunks.
  clone.serializable({
    is: blob.isFile,
    clone: (file) => blob.asFile(file, file.name, file.lastModified),
  });
  clone.serializable({
    is: blob.isBlob,
    clone: (value) => blob.newBlob(blob.chunksOf(value), blob.typeOf(value)),
  });
}
