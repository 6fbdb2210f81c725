/**
 * Files dropped on the page: a model to talk to, in one file or as a folder's files, or conversations
 * to import. Whatever they hold is judged by who reads them.
 */

/**
 * @param {HTMLElement} target Gets the class "dropping" while files are held over the page.
 * @param {{ model: (files: File[]) => void, conversations: (file: File) => void,
 *   refuse: (reason: string) => void }} takers
 */
export function acceptFiles(target, { model, conversations, refuse }) {
  const holdsFiles = (/** @type {DragEvent} */ { dataTransfer }) =>
    dataTransfer?.types.includes('Files') ?? false;
  const show = (/** @type {boolean} */ is) => target.classList.toggle('dropping', is);
  document.addEventListener('dragover', (event) => {
    if (!holdsFiles(event)) return; // a text on its way into the field
    event.preventDefault();
    show(true);
  });
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (!relatedTarget) show(false);
  });
  document.addEventListener('drop', (event) => {
    show(false);
    if (!holdsFiles(event)) return;
    event.preventDefault(); // the browser would go to the file
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length === 1 && /\.json$/i.test(files[0].name)) conversations(files[0]);
    else if (files.length === 1 || weightsOf(files)) model(files);
    else
      refuse(
        `dropped files: expected one, or a model folder's with a .safetensors file, found ${files.length}`,
      );
  });
}

/** The file of several that names a model's folder. @param {File[]} files */
export const weightsOf = (files) => files.find(({ name }) => /\.safetensors$/i.test(name));
