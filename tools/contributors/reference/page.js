/* global SwaggerUIBundle -- swagger-ui-bundle.js */
// Follows the colours of the system, and starts Swagger UI in the browser.

const dark = matchMedia('(prefers-color-scheme: dark)');
const followSystem = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followSystem);
followSystem();

/** Swagger UI parses JSON to indent it, which rounds int64. The text is indented with the digits that came. */
function withItsDigits(text) {
  if (JSON.rawJSON === undefined) return text;
  try {
    const parsed = JSON.parse(text, (_name, value, { source }) =>
      typeof value === 'number' ? JSON.rawJSON(source) : value,
    );
    return JSON.stringify(parsed, undefined, 2);
  } catch {
    return text;
  }
}

const exactIntegers = ({ React }) => ({
  wrapComponents: {
    responseBody: (ResponseBody) => (properties) =>
      React.createElement(ResponseBody, {
        ...properties,
        ...(properties.contentType?.startsWith('application/json') && {
          content: withItsDigits(properties.content),
          contentType: 'text/plain',
        }),
      }),
  },
});

/** The page has the headers of many responses once (files.ts), so a response shows the others. */
const ownHeaders = ({ React }) => ({
  wrapComponents: {
    headers:
      (Headers, { specSelectors }) =>
      ({ headers, ...properties }) => {
        const shownOnce = specSelectors.specJson().get('x-shown-once');
        const own = headers.filterNot((header) => shownOnce.includes(header.get('description')));
        return own.size > 0 && React.createElement(Headers, { ...properties, headers: own });
      },
  },
});

/** Takes the key out of the address. A reload keeps it. */
function takeKey() {
  const [, given] = /^#key=(\w+)$/.exec(location.hash) ?? [];
  if (given !== undefined) {
    sessionStorage.setItem('key', given);
    history.replaceState(undefined, '', '.');
  }
  return given ?? sessionStorage.getItem('key');
}

/** The samples have the key that the page sends. It is not in the served document, which other users of the machine can load. */
const withKeyInSamples = (key) => () => ({
  statePlugins: {
    spec: {
      wrapActions: {
        updateSpec: (update) => (document) => update(document.replaceAll('as_local_your_key', key)),
      },
    },
  },
});

function showReference(container) {
  const sendsRequests = 'sendsRequests' in container.dataset;
  const key = sendsRequests ? takeKey() : null;
  const reference = SwaggerUIBundle({
    domNode: container,
    url: 'openapi.yaml',
    plugins: [exactIntegers, ownHeaders, ...(key === null ? [] : [withKeyInSamples(key)])],
    deepLinking: true,
    // On a narrow screen, one open operation is longer than the list of all.
    docExpansion: matchMedia('(width < 40rem)').matches ? 'list' : 'full',
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    validatorUrl: null,
    queryConfigEnabled: false,
    ...(!sendsRequests && { supportedSubmitMethods: [] }),
    onComplete: () => {
      if (key !== null) reference.preauthorizeApiKey('apiKey', key);
    },
  });
}

const container = document.querySelector('#reference');
// The pages of the guide have none.
if (container !== null) showReference(container);
