// A certified OpenID provider, oidc-provider, as an identity provider and as an authorization server
// whose access tokens are JWTs. Its own development pages ask for a name and for consent.
import Provider from 'oidc-provider';

const [port, clientId, redirectUri] = process.argv.slice(2);
const issuer = `http://localhost:${port}`;
const scopes = 'full read-only all';
const provider = new Provider(issuer, {
  clients: [
    {
      client_id: clientId,
      client_secret: process.env.CLIENT_SECRET,
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'client_credentials'],
    },
  ],
  claims: { email: ['email', 'email_verified'], openid: ['sub'] },
  scopes: ['openid', 'email', 'offline_access', ...scopes.split(' ')],
  findAccount: async (_context, id) => ({
    accountId: id,
    claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: id !== 'eve' }),
  }),
  features: {
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, resource) => ({
        scope: scopes,
        audience: resource,
        accessTokenTTL: 300,
        accessTokenFormat: 'jwt',
        jwt: { sign: { alg: 'ES256' } },
      }),
    },
  },
  jwks: { keys: JSON.parse(process.env.PROVIDER_KEYS) },
  cookies: { keys: ['a key of a test'] },
});
provider.listen(Number(port), '127.0.0.1', () => console.log(issuer));
