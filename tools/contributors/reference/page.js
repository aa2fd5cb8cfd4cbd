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

/** The introduction has the headers of every response (files.ts), so a response shows the others. */
const ownHeaders = ({ React }) => ({
  wrapComponents: {
    headers:
      (Headers, { specSelectors }) =>
      ({ headers, ...properties }) => {
        const shownOnce = specSelectors.specJson().get('x-shown-once');
        const own = headers.filterNot((_header, name) => shownOnce.includes(name));
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

function showReference(container) {
  const sendsRequests = 'sendsRequests' in container.dataset;
  const key = sendsRequests ? takeKey() : null;
  const reference = SwaggerUIBundle({
    domNode: container,
    url: 'openapi.yaml',
    plugins: [exactIntegers, ownHeaders],
    deepLinking: true,
    docExpansion: 'full',
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
