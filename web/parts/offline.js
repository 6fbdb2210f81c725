/**
 * Has the site's service worker installed: pages then work without a network, and are isolated
 * where the host does not see to it.
 */

const TRIED = 'wick-isolating';
/** The first visit waits this long for the worker, no longer. */
const PATIENCE_MILLISECONDS = 5000;

/**
 * Installs it. A page that is not isolated is loaded once more when that will isolate it; the
 * promise is then never settled.
 * @returns {Promise<void>}
 */
export async function installOffline() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return; // an address without https, or a private window
  const installed = serviceWorker.register(new URL('../sw.js', import.meta.url));
  installed.catch(() => {}); // refused here: the page works all the same
  if (globalThis.crossOriginIsolated || sessionStorage.getItem(TRIED)) return;
  sessionStorage.setItem(TRIED, 'yes');
  if (!(await controlled(serviceWorker, installed))) return;
  location.reload();
  await new Promise(() => {});
}

/**
 * Whether the worker takes care of this page, within a few seconds.
 * @param {ServiceWorkerContainer} container
 * @param {Promise<unknown>} installed
 * @returns {Promise<boolean>}
 */
async function controlled(container, installed) {
  if (container.controller) return true;
  const taken = new Promise((resolve) =>
    container.addEventListener('controllerchange', () => resolve(true), { once: true }),
  );
  const refused = installed.then(() => taken).catch(() => false);
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MILLISECONDS, false));
  return Boolean(await Promise.race([refused, late]));
}
