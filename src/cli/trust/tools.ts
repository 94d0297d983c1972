/** Files and addresses that the lines name. `rootsPath` is the bundle, or the CA alone when none was written. */
export type Places = { readonly caPath: string; readonly rootsPath: string; readonly proxyUrl: string };

/** One tool: lines for a POSIX shell, and what to know beside them. */
export type Tool = { readonly tool: string; readonly lines: readonly string[]; readonly note?: string };

/** As one word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9_./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll('\'', '\'\\\'\'')}'`;
}

/** Address with credentials; `$TOKEN` stays for the shell to put in. */
export function withToken(proxyUrl: string): string {
  return `"${proxyUrl.replace('://', '://agent:$TOKEN@')}"`;
}

/** Variables that make a whole process tree go through the proxy and trust it. */
export function environmentOf({ caPath, rootsPath }: Places): Readonly<Record<string, string>> {
  return {
    NODE_EXTRA_CA_CERTS: caPath,
    NODE_USE_ENV_PROXY: '1',
    SSL_CERT_FILE: rootsPath,
    REQUESTS_CA_BUNDLE: rootsPath,
    CURL_CA_BUNDLE: rootsPath,
    GIT_SSL_CAINFO: rootsPath,
    PIP_CERT: rootsPath,
    AWS_CA_BUNDLE: rootsPath,
    CARGO_HTTP_CAINFO: rootsPath,
    DENO_CERT: caPath,
  };
}

function exports(names: readonly string[], places: Places): string {
  const values = environmentOf(places);
  return `export ${names.map((name) => `${name}=${shellWord(values[name] ?? '')}`).join(' ')}`;
}

/** What to do for each tool, in the order in which it is shown. */
export function toolLines(places: Places): Tool[] {
  const roots = shellWord(places.rootsPath);
  const url = withToken(places.proxyUrl);
  const { hostname, port } = new URL(places.proxyUrl);
  const proxy = `export HTTPS_PROXY=${url} HTTP_PROXY=${url} https_proxy=${url} http_proxy=${url}`;
  return [
    { tool: 'all', lines: [proxy], note: 'first, with the capability token in TOKEN; the tools below take the proxy from these variables, but for Java' },
    { tool: 'curl', lines: [exports(['CURL_CA_BUNDLE'], places)], note: 'or for one call: curl --cacert FILE' },
    { tool: 'Node', lines: [exports(['NODE_EXTRA_CA_CERTS', 'NODE_USE_ENV_PROXY'], places)], note: 'NODE_USE_ENV_PROXY needs Node 24 (or 22.21); the certificate is added to Node\'s own' },
    { tool: 'Python', lines: [exports(['SSL_CERT_FILE', 'REQUESTS_CA_BUNDLE', 'PIP_CERT'], places)], note: 'SSL_CERT_FILE for urllib and httpx, REQUESTS_CA_BUNDLE for requests, PIP_CERT for pip' },
    { tool: 'Go', lines: [exports(['SSL_CERT_FILE'], places)], note: 'on Linux and the BSDs; elsewhere Go asks the system\'s trust store' },
    {
      tool: 'Java',
      lines: [
        `keytool -importcert -noprompt -alias customhouse -file ${shellWord(places.caPath)} -keystore customhouse.p12 -storetype PKCS12 -storepass changeit`,
        `export JAVA_TOOL_OPTIONS="-Djavax.net.ssl.trustStore=$PWD/customhouse.p12 -Djavax.net.ssl.trustStorePassword=changeit -Dhttps.proxyHost=${hostname} -Dhttps.proxyPort=${port} -Djdk.http.auth.tunneling.disabledSchemes="`,
      ],
      note: 'the program gives the token with an Authenticator; Java\'s default refuses Basic to a proxy, which the last option allows',
    },
    { tool: 'git', lines: [`git config --global http.sslCAInfo ${roots}`], note: 'or for one process tree: GIT_SSL_CAINFO' },
    { tool: 'wget', lines: [`echo ca_certificate=${roots} >> ~/.wgetrc`], note: 'or for one call: wget --ca-certificate=FILE' },
    { tool: 'AWS, Cargo, Deno', lines: [exports(['AWS_CA_BUNDLE', 'CARGO_HTTP_CAINFO', 'DENO_CERT'], places)] },
  ];
}
